import * as z from "zod/mini";
import type { Context } from "../kernel/context.js";
import { faultOf, type Input, inputOf, meant, required, secret, textWith } from "../kernel/values.js";
import type { PasswordQueue } from "../../infrastructure/passwords/password-queues.js";
import { strengthOf } from "../../infrastructure/passwords/estimator.js";
import { findUser } from "../users/users.js";

/** Details of a user, which must not make up a password. */
export interface PasswordOwner {
  email?: string;
  username?: string;
  name?: string;
}

export interface PasswordCheck {
  valid: boolean;
  /** Advice for an invalid password, in sentences; empty for a valid one. */
  details: string;
}

/** Longest password in bytes of UTF-8. */
export const longestPassword = 1024;

/** Required strength of a password, from 0 to 4. */
const requiredScore = 3;

/** Whether the password exceeds the limit. To be checked before hashing. */
export const isTooLong = (password: string) => Buffer.byteLength(password) > longestPassword;

/** The password of an account. */
export const givenPassword = meant(textWith({ maxLength: longestPassword }), { kind: "secret" });

/** A password that a user chooses; how strong it has to be is checked by `checkPassword`. */
export const chosenPassword = meant(
  z.string().check(
    z.refine((given) => !isTooLong(given), `Must be at most ${longestPassword} bytes long.`),
    z.meta({ maxLength: longestPassword }),
  ),
  { kind: "secret", limits: `at most ${longestPassword} bytes` },
);

/** Who waits for a check: a request, with a limit of time, or an operator, as long as it takes. */
type Waiting = PasswordQueue | "operator";

/** Checks the length of a new password, and its strength against attackers who know the user. */
export async function checkPassword(
  password: string,
  owner: PasswordOwner = {},
  waiting: Waiting = "signedIn",
): Promise<PasswordCheck> {
  const problem = faultOf(chosenPassword, password);
  if (problem) return { valid: false, details: problem };
  const known = [owner.email, owner.email?.split("@")[0], owner.username, owner.name].filter((text) => !!text);
  const isPatient = waiting === "operator";
  const guessed = { password, known: known as string[] };
  const { score, advice } = await strengthOf(guessed, isPatient ? "signedIn" : waiting, isPatient);
  const valid = score >= requiredScore;
  return { valid, details: valid ? "" : advice.join(" ") || "Must be harder to guess." };
}

/** Returns the problem of a new password as a sentence; `undefined` if it is valid. */
export async function passwordProblem(
  password: string,
  owner?: PasswordOwner,
  waiting?: Waiting,
): Promise<string | undefined> {
  const { valid, details } = await checkPassword(password, owner, waiting);
  return valid ? undefined : details;
}

export const ValidatePassword = inputOf({
  password: required(secret, "The password."),
});
export type ValidatePassword = Input<typeof ValidatePassword>;

/** Checks a new password for the caller without storing it. */
export async function validatePassword(ctx: Context, password: string): Promise<PasswordCheck> {
  // Without a transaction, so that no connection is held while passwords are queued.
  return checkPassword(password, await findUser(ctx.afresh(), "me"));
}
