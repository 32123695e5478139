import { databaseTime } from "../../runtime/clock.js";
import { randomText } from "../../runtime/random.js";
import { authenticatorSecrets } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { badInput, type DomainError } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { meant, nonEmpty, pasted, presented } from "../kernel/values.js";
import type { Db } from "../../infrastructure/database/database.js";
import { totpStepOf } from "../../infrastructure/totp.js";
import { hashSecret } from "../tokens/token-text.js";
import type { StoredAuthenticator } from "./held-factors.js";
import { failuresOf } from "./login-failures.js";

/** A one-time code as people enter it: of an authenticator, or a recovery code. */
export const oneTimeCode = pasted(nonEmpty(meant(presented(64), { kind: "secret" })));

/** Unambiguous capital letters and digits. A code of sixteen has 78 bits: no slow hash is needed. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTVWXYZ";
const recoveryLength = 16;
const recoveryCodeCount = 10;

/** A right code, which is yet to be spent. */
export type RightCode = { authenticatorId: string; step: number } | { recoveryHash: Buffer };

/** Selects the authenticators of a user: a confirmed one, and one that is yet to be confirmed. */
export const authenticators = (db: Db, userId: string) =>
  db
    .selectFrom("authenticators")
    .select(["id", "userId", "confirmedAt", "lastStep", "keyId", "secretNonce", "secretCiphertext"])
    .where("userId", "=", userId);

/** Decrypts the secret of an authenticator. */
export function secretOf(
  { services: { vault } }: Context,
  { id, userId, keyId, secretNonce, secretCiphertext }: StoredAuthenticator,
): string {
  const sealed = { keyId: keyId!, nonce: secretNonce!, ciphertext: secretCiphertext! };
  return vault.open(authenticatorSecrets.place({ id, ownerId: userId }), sealed);
}

/**
 * Runs an attempt to find the meaning of a code, which returns `undefined` for a wrong one. Throws RATE_LIMITED after too
 * many wrong codes of a user within an hour. They are counted as failures of sign-in are: who has found out the password
 * elsewhere cannot lock the user out.
 */
export async function limitCodes<Right>(
  ctx: Context,
  userId: string,
  attempt: () => Promise<Right | undefined>,
): Promise<Right | undefined> {
  const { oneTimeCodes } = ctx.services.limits;
  const key = await failuresOf(ctx, userId, userId);
  oneTimeCodes.checkKnown(key);
  const right = await attempt();
  // A right code counts as well as a wrong one that other attempts have not made impossible meanwhile.
  await (right === undefined ? oneTimeCodes.take(key) : oneTimeCodes.check(key));
  return right;
}

/**
 * Finds out whether a code is right for a user with a second factor: of the authenticator, or a recovery code. Throws
 * RATE_LIMITED after too many wrong ones.
 */
export const findCode = (
  ctx: Context,
  userId: string,
  authenticator: StoredAuthenticator | undefined,
  given: string,
): Promise<RightCode | undefined> =>
  limitCodes(ctx, userId, async () => {
    const text = given.replaceAll(/[\s-]/g, "").toUpperCase();
    const step = authenticator && totpStepOf(secretOf(ctx, authenticator), text, databaseTime());
    if (authenticator && step !== undefined) {
      const isFresh = authenticator.lastStep === null || step > authenticator.lastStep;
      return isFresh ? { authenticatorId: authenticator.id, step } : undefined;
    }
    const recoveryHash = hashSecret(text);
    const known = await ctx.services.database.db
      .selectFrom("recoveryCodes")
      .select("userId")
      .where("userId", "=", userId)
      .where("codeHash", "=", recoveryHash)
      .executeTakeFirst();
    return known && { recoveryHash };
  });

/**
 * Spends a code in the transaction of the request, which has locked the user. Of concurrent requests with the same code, one
 * returns true: Postgres checks the condition again after it waited for the row.
 */
export async function spendCode({ db }: Context, userId: string, code: RightCode): Promise<boolean> {
  if ("recoveryHash" in code) {
    const { numDeletedRows } = await db
      .deleteFrom("recoveryCodes")
      .where("userId", "=", userId)
      .where("codeHash", "=", code.recoveryHash)
      .executeTakeFirst();
    return numDeletedRows === 1n;
  }
  const { numUpdatedRows } = await db
    .updateTable("authenticators")
    .set({ lastStep: code.step })
    .where("id", "=", code.authenticatorId)
    .where("confirmedAt", "is not", null)
    .where((eb) => eb.or([eb("lastStep", "is", null), eb("lastStep", "<", code.step)]))
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Counts the recovery codes of a user that are left. */
export async function countRecoveryCodes({ db }: Pick<Context, "db">, userId: string): Promise<number> {
  const { left } = await db
    .selectFrom("recoveryCodes")
    .where("userId", "=", userId)
    .select(({ fn }) => fn.countAll<number>().as("left"))
    .executeTakeFirstOrThrow();
  return left;
}

/** Replaces the recovery codes of a locked user. Returns the texts of the new ones, which are not readable later. */
export async function replaceRecoveryCodes({ db }: Context, userId: string): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, () => randomText(recoveryLength, alphabet));
  await db.deleteFrom("recoveryCodes").where("userId", "=", userId).execute();
  const rows = codes.map((code) => ({ userId, codeHash: hashSecret(code), createdAt: now }));
  await db.insertInto("recoveryCodes").values(rows).execute();
  return codes.map((code) => code.match(/.{4}/g)!.join("-"));
}

export const missingCode = (): DomainError => badInput([{ field: "oneTimeCode", detail: "Is required." }]);

/** Not UNAUTHENTICATED, which clients interpret as the end of the session. */
export const wrongCode = (): DomainError =>
  badInput([{ field: "oneTimeCode", detail: "Is wrong, or was used before. Wait for the next code." }]);
