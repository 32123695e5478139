import { randomBytes } from "node:crypto";
import { relyingPartyOf, type RelyingParty } from "../../infrastructure/webauthn.js";
import { purge } from "../../infrastructure/database/purge.js";
import { minute } from "../../runtime/durations.js";
import type { Context } from "../kernel/context.js";
import { forbidden } from "../kernel/errors.js";
import { after, now } from "../kernel/queries.js";
import { bytes, meant, nonEmpty } from "../kernel/values.js";
import { hashSecret } from "../tokens/token-text.js";
import { areOffered } from "./factor-demands.js";

/** How long a challenge can be signed, in milliseconds. */
export const challengeLifetime = 5 * minute;

/** The JSON of a `PublicKeyCredential`, as browsers make it. */
export const credentialJson = meant(nonEmpty(bytes(1, 24_576)), { kind: "secret" });

/**
 * The purpose of a challenge, and for whom it is: adding a passkey or proving who the user of a session is, completing a
 * sign-in after the right password of a user, or signing in any user without one.
 */
export type ChallengeUse =
  | { purpose: "add" | "prove"; userId: string; keyId: string }
  | { purpose: "complete"; userId: string }
  | { purpose: "sign_in" };

/** Makes a challenge, which counts once. */
export async function issueChallenge({ db }: Context, use: ChallengeUse): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = randomBytes(32);
  const challengeHash = hashSecret(challenge.toString("base64url"));
  await db
    .insertInto("passkeyChallenges")
    .values({ challengeHash, expiresAt: after(challengeLifetime), ...use })
    .execute();
  return new Uint8Array(challenge);
}

/**
 * Spends a challenge, and returns whether it was one for this use. Outside of the transaction of the request: an attempt that
 * fails spends it, too.
 */
export async function spendChallenge({ services: { database } }: Context, challenge: string, use: ChallengeUse) {
  const spent = await database.db
    .deleteFrom("passkeyChallenges")
    .where("challengeHash", "=", hashSecret(challenge))
    .where("purpose", "=", use.purpose)
    .where("userId", "is not distinct from", "userId" in use ? use.userId : null)
    .where("keyId", "is not distinct from", "keyId" in use ? use.keyId : null)
    .where("expiresAt", ">", now)
    .returning("purpose")
    .executeTakeFirst();
  return spent !== undefined;
}

/** Deletes challenges that have expired. */
export const challengePurge = purge("passkey_challenges", { by: "expires_at", every: 10 * minute });

/** Whether users can have passkeys: where second factors are on, at an access URL for which browsers allow them. */
export const takesPasskeys = async (ctx: Pick<Context, "db" | "config">): Promise<boolean> =>
  ctx.config.passwordAuth && relyingPartyOf(ctx.config.accessUrl) !== undefined && (await areOffered(ctx));

/** The relying party of the deployment. Throws FORBIDDEN where users can have no passkeys. */
export async function requirePasskeys(ctx: Pick<Context, "db" | "config">): Promise<RelyingParty> {
  const { config } = ctx;
  if (!config.passwordAuth) throw forbidden("Password authentication is disabled.");
  if (!(await areOffered(ctx))) throw forbidden("Second factors are switched off.");
  const party = relyingPartyOf(config.accessUrl);
  if (!party)
    throw forbidden("Passkeys cannot be used here.", {
      detail:
        "Browsers allow them where the access URL of the deployment begins with https and has the name of a host.",
    });
  return party;
}
