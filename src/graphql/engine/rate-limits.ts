import type { GraphQLSchema } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { accountTriedBy } from "./access.js";

/**
 * Lets root fields of class `credential` count before they resolve, and before their transaction begins. Here, so that
 * no surface can forget it: not even a message on an open socket tries a secret for nothing. While too many passwords wait
 * to be hashed, nothing is tried at all.
 */
export function limitTries(schema: GraphQLSchema): void {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const { resolve } = field;
      const accountOf = accountTriedBy(field);
      if (!resolve || !accountOf) continue;
      field.resolve = async (root, args, ctx: Context, info) => {
        ctx.services.passwords.requireRoom(ctx.actor.kind === "anonymous" ? "stranger" : "signedIn");
        await ctx.services.limits.countTry(ctx, accountOf(args, ctx.actor) ?? "");
        return resolve(root, args, ctx, info);
      };
    }
  }
}
