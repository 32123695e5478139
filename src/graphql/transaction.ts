import type { GraphQLSchema } from "graphql";
import type { Context } from "../context.js";

/** SQLSTATEs of a transaction that lost against another one and would pass now: serialization failure, deadlock. */
const lostRace = new Set(["40001", "40P01"]);
const attempts = 3;

/**
 * Puts every root mutation field into a transaction of its own. The payload's fields resolve after the commit.
 * Not a middleware of the schema builder: those make every field of every type asynchronous.
 */
export function transactMutations(schema: GraphQLSchema): void {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    const { resolve } = field;
    if (!resolve) continue;
    field.resolve = async (root, args, ctx: Context, info) => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await ctx.transactional(async () => resolve(root, args, ctx, info));
        } catch (error) {
          if (attempt === attempts || !lostRace.has((error as { code?: string }).code ?? "")) throw error;
        }
      }
    };
  }
}
