import { databaseTime } from "../../runtime/clock.js";
import type { Actor, ProofWay, UserActor } from "../kernel/actor.js";
import { DomainError, forbidden } from "../kernel/errors.js";
import { type Permission, provenPermissions } from "./policy.js";

/** Throws STEP_UP_REQUIRED if a permission that the actor holds asks for a more recent proof. */
export function requireProofFor(actor: Actor, permission: Permission): void {
  if (provenPermissions.has(permission) && actor.kind === "user") requireProof(actor);
}

/**
 * Throws STEP_UP_REQUIRED if the session of a user was not proven recently, and FORBIDDEN for the access token of an
 * application (RFC 9470). API tokens and service accounts pass, as do users of whom the deployment requires no proof.
 */
export function requireProof({ proof }: UserActor): void {
  if (!proof || proof.until > databaseTime()) return;
  const { ways, maxAge } = proof;
  if (ways.length === 0)
    throw forbidden("Prove again who you are.", {
      detail: "Applications cannot do this for your account. Do it in the console, or with an API token.",
      reason: "insufficient_user_authentication",
      maxAge,
    });
  throw new DomainError("STEP_UP_REQUIRED", "Prove again who you are.", {
    detail: `This takes a proof of the last ${Math.ceil(maxAge / 60)} minutes. ${advice(ways)}`,
    satisfiedBy: [...ways],
    maxAge,
  });
}

const advice = (ways: readonly ProofWay[]): string =>
  ways.includes("sign_in") ? "Sign in again." : "Give it with `proveIdentity`, or sign in again.";
