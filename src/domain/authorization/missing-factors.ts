import { databaseTime } from "../../runtime/clock.js";
import type { Actor } from "../kernel/actor.js";
import { forbidden } from "../kernel/errors.js";

/** Whether the caller is a user who can do nothing before a second factor was added. */
export const mustAddFactor = (actor: Actor): boolean =>
  actor.kind === "user" && actor.addsFactorBy !== undefined && actor.addsFactorBy <= databaseTime();

/** Throws FORBIDDEN for a user who can do nothing before a second factor was added. */
export function requireFactor(actor: Actor): void {
  if (!mustAddFactor(actor)) return;
  throw forbidden("You must add a second factor first.", {
    detail: "Your account requires one. Add it on the page /account/second-factor, or with `beginAuthenticator`.",
    reason: secondFactorRequired,
  });
}

/** The reason of such a failure for programs. */
export const secondFactorRequired = "second_factor_required";
