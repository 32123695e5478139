// Whose quiet hours apply, and when they are; `quiet-hours-changes.ts` stores them.
import { databaseTime } from "../../runtime/clock.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { type DailySchedule, nextStart, scheduleOf, scheduleText, timeOfDay } from "./daily-schedule.js";
import { findUser, userTarget } from "../users/users.js";

/** The daily time from which the workspaces of a user may be stopped and updated. */
export interface QuietHours {
  /** A cron expression: `CRON_TZ=Europe/Berlin 30 2 * * *`. */
  schedule: string;
  timezone: string;
  /** `HH:MM` in that time zone. */
  time: string;
  /** The first start after now. */
  next: string;
  /** Whether the user has set the schedule; otherwise it is the default of the deployment. */
  userSet: boolean;
  /** Whether users may set their own schedule. */
  userCanSet: boolean;
}

/** Reads the quiet hours of a user. */
export async function readQuietHours(ctx: Context, ref: string): Promise<QuietHours> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  const own = await storedSchedule(ctx, user.id);
  return quietHours(ctx, own === undefined ? undefined : scheduleOf(own));
}

/** Batch read of the schedules that users have set, null for those who have not, for `ctx.load`. Checks no permission. */
export async function ownSchedules({ db }: Context, userIds: readonly string[]): Promise<Array<string | null>> {
  const rows = await db
    .selectFrom("userQuietHours")
    .select(["userId as id", "schedule"])
    .where("userId", "=", anyOf(userIds))
    .execute();
  return rowById(rows, userIds).map((row) => row?.schedule ?? null);
}

/** The schedule that a user has set, if any. */
export const storedSchedule = async ({ db }: Context, userId: string): Promise<string | undefined> =>
  (await db.selectFrom("userQuietHours").select("schedule").where("userId", "=", userId).executeTakeFirst())?.schedule;

/** The schedule that applies to a user with a schedule of the user, if any. */
function scheduleFor(ctx: Context, own: DailySchedule | undefined): DailySchedule {
  return (maySetOwn(ctx) ? own : undefined) ?? ctx.config.quietHoursDefault;
}

const maySetOwn = (ctx: Context): boolean =>
  ctx.config.quietHoursAllowCustom && hasFeature(ctx, "advanced_template_scheduling");

/** The schedule that applies to a user, from the stored text of the user's own one, if any. */
export const scheduleOfUser = (ctx: Context, own: string | null): DailySchedule =>
  scheduleFor(ctx, own === null ? undefined : scheduleOf(own));

/** Returns the quiet hours of a user by the schedule of the user, if any. */
export function quietHours(ctx: Context, own: DailySchedule | undefined): QuietHours {
  const schedule = scheduleFor(ctx, own);
  const userCanSet = maySetOwn(ctx);
  return {
    schedule: scheduleText(schedule),
    timezone: schedule.zone,
    time: timeOfDay(schedule),
    next: new Date(nextStart(schedule, databaseTime())).toISOString(),
    userSet: userCanSet && own !== undefined,
    userCanSet,
  };
}
