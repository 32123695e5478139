import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import type { Lane } from "../outside/lanes.js";
import { strengthOf } from "../outside/password-strength.js";
import { findUser } from "../users/users.js";

/** What is known of the person a password belongs to, and so makes it easy to guess. */
export interface PasswordOwner {
  email?: string;
  username?: string;
  name?: string;
}

export interface PasswordCheck {
  valid: boolean;
  /** What to do better, in sentences; empty when there is nothing. */
  details: string;
}

/** Longest password in bytes of UTF-8. */
export const longestPassword = 1024;

/** Strength from 0 to 4 that a password needs. */
const requiredScore = 3;

/** Whether the password is longer than anybody may have one. Such a password is refused before it costs anything. */
export const isTooLong = (password: string) => Buffer.byteLength(password) > longestPassword;

/** The rule for new passwords: not too long, and hard to guess for somebody who knows the person. */
export async function checkPassword(
  password: string,
  owner: PasswordOwner = {},
  lane: Lane = "signedIn",
): Promise<PasswordCheck> {
  if (isTooLong(password)) return { valid: false, details: `Must be at most ${longestPassword} bytes long.` };
  const known = [owner.email, owner.email?.split("@")[0], owner.username, owner.name].filter((text) => !!text);
  const { score, advice } = await strengthOf({ password, known: known as string[] }, lane);
  const valid = score >= requiredScore;
  return { valid, details: valid ? "" : advice.join(" ") || "Must be harder to guess." };
}

/** The fault of a new password, if it has one, as a sentence. */
export async function passwordProblem(
  password: string,
  owner?: PasswordOwner,
  lane?: Lane,
): Promise<string | undefined> {
  const { valid, details } = await checkPassword(password, owner, lane);
  return valid ? undefined : details;
}

/** Whether the caller could take the password. Looks at it and forgets it. */
export async function validatePassword(
  ctx: Context,
  { password }: { password?: string | null },
): Promise<PasswordCheck> {
  const problems = new Problems();
  problems.add("password", password == null ? "Is required." : undefined);
  problems.throwIfAny();
  // Read without a transaction: no connection is held while passwords wait for their turn.
  const owner = ctx.actor.userId === undefined ? undefined : await findUser(ctx.afresh(), "me");
  return checkPassword(password ?? "", owner);
}
