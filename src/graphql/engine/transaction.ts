import type { Context } from "../../domain/kernel/context.js";
import { isLostRace } from "../../infrastructure/database/availability.js";
import { asGraphqlError } from "./errors.js";
import type { Result } from "./result.js";

const attempts = 3;

/** Rolls a transaction back because its operation has errors. */
class Failed extends Error {
  constructor(readonly result: Result) {
    super("The operation failed.");
  }

  get isLostRace(): boolean {
    return !!this.result.errors?.some(({ originalError }) => isLostRace(originalError));
  }
}

/**
 * Runs a mutation in one transaction: the verb, every read of its payload, the audit events, the commit. A response with
 * errors therefore means that nothing was stored, and has no data. Retries deadlocks and serialization failures twice.
 */
export async function inTransaction(ctx: Context, execute: () => Result | Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ctx.transactional(async () => {
        const result = await execute();
        if (result.errors) throw new Failed(result);
        return result;
      });
    } catch (error) {
      const isFailed = error instanceof Failed;
      if (attempt < attempts && (isFailed ? error.isLostRace : isLostRace(error))) continue;
      return { data: null, errors: isFailed ? error.result.errors! : [asGraphqlError(error)] };
    }
  }
}
