import { sql } from "kysely";
import { auditedAs } from "../kernel/audit.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import type { Context } from "../kernel/context.js";
import { forbidden } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, now } from "../kernel/queries.js";
import { hour } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import type { TokenSet } from "./provider-responses.js";
import type { ExternalAuthProvider } from "./configuration.js";
import { linkHint, noExtra, noRefreshToken, notValidated, sealTokens, storedId } from "./links.js";

/** Pending links of each kind per user and provider. Another one drops the oldest. */
const mostPending = 10;

const tables = { states: "externalAuthStates", devices: "externalAuthDevices" } as const;

/** Makes room for another pending link, in a transaction, which locks the user. */
export async function makeRoom(
  { db }: Context,
  kind: keyof typeof tables,
  userId: string,
  providerId: string,
): Promise<void> {
  await db.selectFrom("users").where("id", "=", userId).select("id").forNoKeyUpdate().execute();
  const surplus = db
    .selectFrom(tables[kind])
    .where("userId", "=", userId)
    .where("providerId", "=", storedId(providerId))
    .orderBy("id", "desc")
    .offset(mostPending - 1)
    .select("id");
  await db.deleteFrom(tables[kind]).where("id", "in", surplus).execute();
}

/**
 * Stores the tokens that a provider has issued as the link of the user, in a transaction of its own. Replaces an existing
 * link. If that fails, the tokens are revoked after the response. `deviceId` is the device code that was redeemed.
 */
export async function storeLink(
  ctx: Context,
  provider: ExternalAuthProvider,
  userId: string,
  tokens: TokenSet,
  deviceId?: string,
): Promise<void> {
  const own = ctx.afresh();
  try {
    await own.transactional(async () => {
      // Locks the user: a link must not outlive its deletion.
      const living = await own.db
        .selectFrom("users")
        .where("id", "=", userId)
        .where("status", "=", "active")
        .where("deletedAt", "is", null)
        .select("id")
        .forNoKeyUpdate()
        .execute();
      if (living.length === 0) throw forbidden("The account is not active.");
      const { expiresIn, scopes = [...provider.scopes] } = tokens;
      // A replaced link gets a new id, which authenticates its tokens.
      const id = newId();
      const link = {
        ...noRefreshToken,
        ...noExtra,
        ...sealTokens(own.services, { id, ownerId: userId }, tokens),
        id,
        expiresAt: expiresIn === undefined ? null : after(expiresIn * 1000),
        scopes,
        updatedAt: now,
      };
      const stored = await own.db
        .insertInto("externalAuthLinks")
        .values({ ...link, userId, providerId: storedId(provider.id), createdAt: now })
        .onConflict((existing) =>
          existing.columns(["providerId", "userId"]).doUpdateSet((eb) => ({
            ...link,
            ...notValidated,
            account: null,
            refreshError: "",
            refreshingUntil: null,
            revokeAt: null,
            revokeAttempts: 0,
            version: eb("externalAuthLinks.version", "+", 1),
          })),
        )
        .returning(sql<boolean>`xmax = 0`.as("isNew"))
        .executeTakeFirstOrThrow()
        .catch(refuseForgottenKey);
      if (deviceId !== undefined)
        await own.db
          .updateTable("externalAuthDevices")
          .set({ redeemedAt: now, pollingUntil: null })
          .where("id", "=", deviceId)
          .execute();
      const diff = { userId: { new: userId }, accessToken: { new: "***" }, scopes: { new: scopes } };
      const action = stored.isNew ? "create" : "update";
      own.audit({ action, ...auditedAs("external_auth_link", id, provider.id), diff });
      own.publish(linkHint(userId));
    });
  } catch (error) {
    revokeOrphan(ctx, provider, tokens);
    throw error;
  }
}

function revokeOrphan({ services }: Context, provider: ExternalAuthProvider, tokens: TokenSet): void {
  if (provider.revokeUrl === "") return;
  services.backgroundTasks.run("revoke a token that was not stored", (signal) =>
    services.externalAuth.calls.revoke(provider, tokens, signal),
  );
}

/** Delete expired pending links. */
export const pendingLinkPurges = [
  purge("external_auth_states", { by: "expires_at", every: hour }),
  purge("external_auth_devices", { by: "expires_at", every: hour }),
];
