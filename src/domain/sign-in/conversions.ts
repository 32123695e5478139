import type { Context } from "../kernel/context.js";
import { requireUser } from "../kernel/actor.js";
import { mayOn, requireProof } from "../authorization/authorization.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { accountWithId, givenPasswordProblem, auditedAccount, isUnchanged, verify } from "./sign-in-accounts.js";
import { ProviderKind } from "../../infrastructure/identity-providers.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";
import { after, now } from "../kernel/queries.js";
import { minute } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { foldCase } from "../../runtime/text.js";
import { choice, type Input, inputOf, reference, required } from "../kernel/values.js";
import { findUser, type FoundUser } from "../users/users.js";
import { givenPassword } from "./password-strength.js";

export const ConvertLogin = inputOf({
  user: required(reference, "The caller: ID, username, or `me`."),
  toType: required(choice(ProviderKind), "The provider."),
  password: required(givenPassword, "The current password."),
});
export type ConvertLogin = Input<typeof ConvertLogin>;

/** A pending conversion. The state is not readable later. */
export interface ConversionStarted {
  userId: string;
  toType: ProviderKind;
  stateString: string;
  expiresAt: string;
}

const stateLength = 32;
const lifetime = 5 * minute;

/**
 * Begins the conversion of the caller's login from a password to a provider. It takes effect when the caller has signed
 * in at the provider.
 */
export async function convertLogin(
  ctx: Context,
  { user: ref, toType, password }: ConvertLogin,
): Promise<ConversionStarted> {
  const user = await findSelf(ctx, ref);
  const problems = new Problems();
  if (user.loginType !== "password")
    problems.add("toType", "Only accounts that sign in with a password can be converted.");
  problems.add("password", givenPasswordProblem(password));
  problems.throwIfAny();

  // The provider asks for no code of this server.
  requireProof(requireUser(ctx.actor));
  const account = await verify(ctx, await accountWithId(ctx, user.id), password);
  // Checks the account again, which may have changed since its verification, and locks it: later changes void the state.
  const locked = await ctx.db.selectFrom("users").where(isUnchanged(account)).select("id").forNoKeyUpdate().execute();
  if (locked.length === 0) throw conflict("Another request has changed the account.");
  const stateString = randomText(stateLength);
  const state = { stateHash: hashSecret(stateString), toType, expiresAt: after(lifetime) };
  // A new state replaces the former one.
  const { expiresAt } = await ctx.db
    .insertInto("loginConversions")
    .values({ userId: user.id, ...state })
    .onConflict((former) => former.column("userId").doUpdateSet({ ...state, usedAt: null }))
    .returning("expiresAt")
    .executeTakeFirstOrThrow();
  const diff = { toType: { new: toType }, stateString: { new: "***" } };
  ctx.audit({ ...auditedAccount(user), action: "create", resourceType: "login_conversion", diff });
  return { userId: user.id, toType, stateString, expiresAt };
}

/**
 * Finds the caller by `ref`. Throws FORBIDDEN for other users, NOT_FOUND for unknown ones if the caller may read all
 * users. Reads without a transaction, so that no connection is held while passwords are queued for hashing.
 */
async function findSelf(ctx: Context, ref: string): Promise<FoundUser> {
  const reading = ctx.afresh();
  const self = await findUser(reading, "me");
  const names = ["me", self.id, foldCase(self.username)];
  if (names.includes(ref === "me" ? ref : foldCase(ref))) return self;
  if (mayOn(ctx.actor, "user:read", {})) await findUser(reading, ref);
  throw forbidden();
}

/** Marks the conversion of a user as used. Returns whether its state was valid. */
export async function useConversion(
  { db }: Context,
  stateHash: Buffer,
  userId: string,
  toType: ProviderKind,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("loginConversions")
    .set({ usedAt: now })
    .where((eb) => eb.and({ stateHash, userId, toType }))
    .where("usedAt", "is", null)
    .where("expiresAt", ">", now)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Deletes expired conversions. */
export const conversionPurge = purge("login_conversions", { by: "expires_at" });
