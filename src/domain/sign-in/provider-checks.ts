// Between sign-ins, providers are asked again about people who are signed in: what they lost there, they lose here.
import type { InferResult } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { type Checked, RefreshRejected } from "../../infrastructure/identity-providers.js";
import { second } from "../../runtime/durations.js";
import { type Services, systemContext } from "../kernel/context.js";
import { after, now } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import type { KnownProvider } from "./provider-registry.js";
import { endProviderSessions, openTokens, sealTokens, type Tokens } from "./provider-sessions.js";
import { giveClaimed, isCurrent } from "./provider-sign-in.js";
import { accounts } from "./sign-in-accounts.js";
import { reportFailure } from "./sign-in-reports.js";

const batchSize = 20;

/** Milliseconds until a check is made again that failed, or whose server ended. */
const retryAfter = 300_000;

/** Claims sessions whose check is due. Sets the next one first, so that a failure leaves all else as it is. */
const claimDue = (db: Db) => {
  const due = db
    .selectFrom("providerSessions as s")
    .innerJoin("apiKeys as k", "k.id", "s.apiKeyId")
    .where("s.checkAt", "<=", now)
    .where("k.expiresAt", ">", now)
    .orderBy("s.checkAt")
    .select("s.id");
  return db
    .updateTable("providerSessions as s")
    .from("apiKeys as k")
    .innerJoin("users as u", "u.id", "k.userId")
    .where("s.id", "=", claimIds(due, batchSize, "s"))
    .whereRef("k.id", "=", "s.apiKeyId")
    .set({ checkAt: after(retryAfter) })
    .returning(["s.id", "s.provider", "s.subject", "k.id as sessionId", "u.id as userId", "u.username"])
    .returning(["s.keyId", "s.tokensNonce as nonce", "s.tokensCiphertext as ciphertext"]);
};

type Due = InferResult<ReturnType<typeof claimDue>>[number];

/** Asks providers about the people of sessions that are due. Safe on several replicas: each takes other sessions. */
export const providerChecks = {
  name: "ask providers about people who are signed in",
  every: 10 * second,
  async run(services: Services): Promise<void> {
    // The rest of the people of a provider that is away wait for the next attempt.
    const away = new Set<string>();
    for (;;) {
      const due = await claimDue(services.database.db).execute();
      if (due.length === 0) return;
      await Promise.all(due.map((session) => check(services, session, away)));
    }
  },
};

async function check(services: Services, session: Due, away: Set<string>): Promise<void> {
  const { id, provider: name, subject } = session;
  const ctx = systemContext(services);
  const provider = services.identityProviders.find(name);
  if (!provider?.isActive || away.has(name)) return;
  const tokens = openTokens(ctx, session);
  const { refreshToken } = tokens;
  const { checkInterval } = provider.settings;
  if (!provider.check || checkInterval === 0 || refreshToken === undefined) return forget(services, id, tokens);
  try {
    const checked = await provider.check({ subject, refreshToken }, (next) =>
      store(services, id, sealTokens({ services }, id, { ...tokens, refreshToken: next })),
    );
    await apply(services, provider, session, checked);
    await store(services, id, { checkAt: after(checkInterval * 1000) });
  } catch (error) {
    if (error instanceof RefreshRejected) return end(services, session);
    away.add(name);
    reportFailure(ctx, name, error);
    services.log.warn({ err: error, provider: name }, "A provider could not be asked about people who are signed in.");
  }
}

const store = async (
  { database: { db } }: Services,
  id: string,
  change: Partial<ReturnType<typeof sealTokens>> & { checkAt?: ReturnType<typeof after> | null },
): Promise<void> => void (await db.updateTable("providerSessions").set(change).where("id", "=", id).execute());

/** Asks about a session no longer, since the settings of its provider do not want that. */
const forget = (services: Services, id: string, tokens: Tokens): Promise<void> =>
  store(services, id, { ...sealTokens({ services }, id, { ...tokens, refreshToken: undefined }), checkAt: null });

/** Applies the claims as a sign-in does, unless the provider was changed or the session has ended meanwhile. */
async function apply(
  services: Services,
  provider: KnownProvider,
  { id, userId }: Due,
  { claims, isWhole }: Checked,
): Promise<void> {
  const ctx = systemContext(services);
  const { settings } = provider;
  // What only ID tokens say is not absent where there is none.
  const claimMappings = isWhole
    ? settings.claimMappings
    : settings.claimMappings.map((mapping) => ({ ...mapping, absent: "keep" as const }));
  await ctx.transactional(async () => {
    if (!(await isCurrent(ctx, provider))) return;
    const account = await accounts(ctx.db).where("id", "=", userId).forNoKeyUpdate().executeTakeFirst();
    const session = ctx.db.selectFrom("providerSessions").select("id").where("id", "=", id).forKeyShare();
    if (account?.status !== "active" || !(await session.executeTakeFirst())) return;
    await giveClaimed(ctx, { ...provider, settings: { ...settings, claimMappings } }, { claims }, account);
  });
}

async function end(services: Services, { provider, sessionId, userId, username }: Due): Promise<void> {
  const ctx = systemContext(services);
  await ctx.transactional(() =>
    endProviderSessions(
      ctx,
      provider,
      [{ id: sessionId, userId, username }],
      "The provider rejects its refresh token.",
    ),
  );
}
