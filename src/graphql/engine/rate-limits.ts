import type { GraphQLSchema } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { accessOf, rootFields } from "./access.js";

/** The states of a right device code (RFC 8628 §3.5), which are failures only by their form. */
const rightCodes = new Set<unknown>(["authorization_pending", "slow_down", "access_denied", "expired_token"]);

/** Whether a failure is the caller's, who may have guessed. */
function isAttempt(error: unknown): boolean {
  if (!(error instanceof DomainError)) return false;
  const { code, details } = error;
  const isOurs = code === "RATE_LIMITED" || code === "UNAVAILABLE" || code === "INTERNAL_SERVER_ERROR";
  return !isOurs && !rightCodes.has(details.oauthError);
}

/**
 * Counts root fields that try secrets before they resolve and before their transaction begins. Wraps their
 * resolvers, so that it applies on every surface, messages on open sockets included. Of some fields, only failures count. While the queue of the password
 * hashes is full, requests are rejected before they count.
 */
export function limitTries(schema: GraphQLSchema): void {
  for (const field of rootFields(schema)) {
    const { resolve } = field;
    const { tries } = accessOf(field);
    if (!resolve || !tries) continue;
    field.resolve = async (root, args, context, info) => {
      const ctx = context as Context;
      if (tries.secrets === "passwords")
        ctx.services.passwords.requireRoom(ctx.actor.kind === "anonymous" ? "stranger" : "signedIn");
      const { limits } = ctx.services;
      const account = tries.accountOf(args as never, ctx.actor) ?? "";
      const work = async (): Promise<unknown> => resolve(root, args, ctx, info);
      if (tries.countsOnlyFailures) return limits.tryOnce(ctx, account, work, isAttempt);
      await limits.countTry(ctx, account);
      return work();
    };
  }
}
