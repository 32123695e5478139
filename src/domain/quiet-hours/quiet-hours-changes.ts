import { requireFeature } from "../entitlements/requirements.js";
import { auditedAs } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { forbidden, Problems } from "../kernel/errors.js";
import { check, inputOf, type Input, optional, otherwise, reference } from "../kernel/values.js";
import { authorizeOn, type FoundUser, lockUser } from "../users/users.js";
import { quietHoursChanged } from "../workspaces/deadlines.js";
import { dailySchedule, scheduleOf, scheduleText } from "./daily-schedule.js";
import { type QuietHours, quietHours, storedSchedule } from "./quiet-hours.js";

export const SetQuietHours = inputOf({
  user: otherwise(reference, "me", "The user: ID, username, or `me`."),
  schedule: optional(
    dailySchedule,
    "A cron expression with minute and hour, `30 2 * * *`, after `CRON_TZ=<IANA zone>` if not in UTC. Null or empty restores the default; it must be given.",
  ),
});
export type SetQuietHours = Input<typeof SetQuietHours>;

/** Sets the quiet hours of a user, or restores the default. Moves the deadlines of the user's workspaces that run. */
export async function setQuietHours(ctx: Context, { user: ref, schedule: wanted }: SetQuietHours): Promise<QuietHours> {
  const user = await lockUser(ctx, ref, "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  const text = wanted?.trim() || undefined;
  if (text !== undefined) requireFeature(ctx, "advanced_template_scheduling");
  if (!ctx.config.quietHoursAllowCustom) throw forbidden("Users of this deployment cannot set their own quiet hours.");
  const problems = new Problems();
  problems.add("schedule", wanted === undefined ? "Is required." : undefined);
  check(SetQuietHours, { schedule: wanted }, problems);
  problems.throwIfAny();

  const own = text ? scheduleOf(text) : undefined;
  const schedule = own && scheduleText(own);
  if (await storeSchedule(ctx, user, schedule)) await quietHoursChanged(ctx, user.id);
  return quietHours(ctx, own);
}

/** Stores the schedule of a user whom the caller has locked, or deletes it. Returns whether it has changed. */
async function storeSchedule(ctx: Context, { id, username }: FoundUser, schedule?: string): Promise<boolean> {
  const former = await storedSchedule(ctx, id);
  if (schedule === former) return false;
  if (schedule === undefined) await ctx.db.deleteFrom("userQuietHours").where("userId", "=", id).execute();
  else
    await ctx.db
      .insertInto("userQuietHours")
      .values({ userId: id, schedule })
      .onConflict((conflict) => conflict.column("userId").doUpdateSet({ schedule }))
      .execute();
  const action = former === undefined ? "create" : schedule === undefined ? "delete" : "update";
  ctx.audit({ action, ...auditedAs("quiet_hours", id, username), diff: { schedule: { old: former, new: schedule } } });
  return true;
}
