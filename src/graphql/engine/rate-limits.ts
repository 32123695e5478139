import type { GraphQLSchema } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { accessOf } from "./access.js";
import { rootFields } from "./needs.js";

/**
 * Counts root fields that try secrets before they resolve and before their transaction begins. Wraps their
 * resolvers, so that it applies on every surface, messages on open sockets included. While the queue of the password
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
      await ctx.services.limits.countTry(ctx, tries.accountOf(args as never, ctx.actor) ?? "");
      return resolve(root, args, ctx, info);
    };
  }
}
