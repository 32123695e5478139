import type { Context } from "../kernel/context.js";
import { forbidden } from "../kernel/errors.js";
import { aiSpendOf } from "../groups/spending.js";

/**
 * Throws FORBIDDEN if the owner of a task has spent the AI budget of the month in the organization. It holds for every
 * caller, and for creating, resuming, and sending to a task.
 */
export async function requireBudget(ctx: Context, ownerId: string, organizationId: string): Promise<void> {
  const { limitMicros, spentMicros, periodEnd } = await aiSpendOf(ctx, ownerId, organizationId);
  if (limitMicros === null || spentMicros < limitMicros) return;
  throw forbidden("The AI budget is exhausted.", { detail: `The next period begins at ${periodEnd}.` });
}
