// The use of passkeys: the options by which browsers ask for them, and whether what comes is right.
import {
  relyingPartyOf,
  requestOptions,
  readUsedCredential,
  verifyUse,
  type KnownPasskey,
} from "../../infrastructure/webauthn.js";
import { Context } from "../kernel/context.js";
import { systemActor } from "../kernel/actor.js";
import type { Db } from "../../infrastructure/database/database.js";
import { conflict } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { notify } from "../notifications/notify.js";
import { accountNotifications } from "../notifications/templates/account-notifications.js";
import {
  challengeLifetime,
  type ChallengeUse,
  issueChallenge,
  requirePasskeys,
  spendChallenge,
} from "./passkey-challenges.js";
import { accountWithId } from "./sign-in-accounts.js";

/** The right use of a passkey, which is yet to be stored. */
export interface RightPasskey {
  passkeyId: string;
  signCount: number;
  isBackedUp: boolean;
  isUserVerified: boolean;
}

/** Selects the passkeys of a user, the oldest first. */
export const passkeysOf = (db: Db, userId: string) =>
  db
    .selectFrom("passkeys")
    .select(["id", "name", "credentialId", "transports", "isBackedUp", "createdAt", "lastUsedAt"])
    .where("userId", "=", userId)
    .orderBy("createdAt")
    .orderBy("id");

/** Makes the options with which a browser asks for a passkey: one of a user, or any that signs in by itself. */
export async function askForPasskey(
  ctx: Context,
  use: Exclude<ChallengeUse, { purpose: "add" }>,
): Promise<Record<string, unknown>> {
  const party = await requirePasskeys(ctx);
  const allowed: KnownPasskey[] = "userId" in use ? await passkeysOf(ctx.db, use.userId).execute() : [];
  if ("userId" in use && allowed.length === 0) throw conflict("The account has no passkey.");
  const challenge = await issueChallenge(ctx, use);
  return requestOptions({ party, challenge, allowed, verifiesUser: !("userId" in use), timeout: challengeLifetime });
}

/** Finds a passkey by what a browser sent as its ID, with its user. */
export const findPasskey = (db: Db, credentialId: string) =>
  db
    .selectFrom("passkeys")
    .select(["id", "userId", "publicKey", "signCount", "isBackedUp"])
    .where("credentialId", "=", Buffer.from(credentialId, "base64url"))
    .executeTakeFirst();

type StoredPasskey = NonNullable<Awaited<ReturnType<typeof findPasskey>>>;

/** Finds out whether a user has used an own passkey for a challenge. Returns `undefined` for anything else. */
export async function rightPasskeyOf(
  ctx: Context,
  given: string,
  use: ChallengeUse & { userId: string },
): Promise<RightPasskey | undefined> {
  const received = readUsedCredential(given);
  if (!received || !(await spendChallenge(ctx, received.challenge, use))) return undefined;
  const stored = await findPasskey(ctx.services.database.db, received.credential.id);
  return stored?.userId === use.userId ? rightUseOf(ctx, stored, received) : undefined;
}

/**
 * Verifies the use of a passkey, whose challenge is spent. A count that does not grow means that the passkey may have been
 * copied: then it counts as wrong, and its user is told.
 */
export async function rightUseOf(
  ctx: Context,
  stored: StoredPasskey,
  received: NonNullable<ReturnType<typeof readUsedCredential>>,
): Promise<RightPasskey | undefined> {
  const party = relyingPartyOf(ctx.config.accessUrl);
  const use = party && (await verifyUse(received, party, stored));
  if (!use) return undefined;
  if (use.signCount <= stored.signCount && (use.signCount > 0 || stored.signCount > 0)) {
    tellOfCopy(ctx, stored);
    return undefined;
  }
  return { passkeyId: stored.id, ...use };
}

/** Tells a user that a passkey may have been copied: outside of the transaction, which is rolled back. */
function tellOfCopy(ctx: Context, { id, userId }: StoredPasskey): void {
  const asSystem = new Context(ctx.services, systemActor, ctx.request, () => new AbortController());
  ctx.log.warn({ passkey: id, user: userId }, "A passkey has signed less often than before.");
  ctx.services.backgroundTasks.run("copied passkey", () =>
    asSystem.transactional(async () => {
      const user = await accountWithId(asSystem, userId);
      const passkey = await asSystem.db.selectFrom("passkeys").select("name").where("id", "=", id).executeTakeFirst();
      if (!user || !passkey) return;
      await notify(asSystem, {
        template: accountNotifications.passkeyCopied,
        recipients: [userId],
        targets: [userId],
        labels: { account_name: user.name || user.username, passkey: passkey.name },
        data: {},
      });
    }),
  );
}

/**
 * Stores the use of a passkey in the transaction of the request, which has locked the user. Returns false if the passkey was
 * removed meanwhile, or has signed for another request that counts more.
 */
export async function storeUse({ db }: Context, userId: string, use: RightPasskey): Promise<boolean> {
  const { passkeyId, signCount, isBackedUp } = use;
  const { numUpdatedRows } = await db
    .updateTable("passkeys")
    .set({ signCount, isBackedUp, lastUsedAt: now })
    .where("id", "=", passkeyId)
    .where("userId", "=", userId)
    .where((eb) => eb.or([eb("signCount", "<", signCount), eb.and([eb("signCount", "=", 0), eb.val(signCount === 0)])]))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
