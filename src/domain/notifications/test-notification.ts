import { requireUser } from "../kernel/actor.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { sql } from "../kernel/sql.js";
import { notify } from "./notify.js";
import { testTemplate } from "./templates/custom.js";

/** Sends the caller, an owner, a notification by every configured way. Returns the ids of its messages. */
export async function sendTestNotification(ctx: Context): Promise<string[]> {
  const { userId } = requireUser(ctx.actor);
  authorize(ctx.actor, "notification_message:create", { ownerId: null });
  await ctx.services.limits.testNotifications.take(userId, ctx.request);
  const recipients = sql`u.id = ${userId}`;
  const sent = await notify(ctx, { template: testTemplate, recipients, targets: [], labels: {}, data: {} });
  ctx.audit({ action: "create", resourceType: "notification_message", diff: { template: { new: testTemplate.name } } });
  return sent.map(({ id }) => id);
}
