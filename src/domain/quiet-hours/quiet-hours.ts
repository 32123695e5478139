import { databaseTime } from "../../clock.js";
import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { hasFeature, requireFeature } from "../entitlements/requirements.js";
import { forbidden, Problems } from "../kernel/errors.js";
import {
  type DailySchedule,
  nextStart,
  scheduleOf,
  scheduleProblem,
  scheduleText,
  timeOfDay,
} from "./daily-schedule.js";
import { authorizeOn, findUser, type FoundUser, lockUser, userTarget } from "../users/users.js";

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

const scheduleByUser = statement<{ schedule: string }>(`select schedule from user_quiet_hours where user_id = $1`);

/** Reads the quiet hours of a user. */
export async function readQuietHours(ctx: Context, ref: string): Promise<QuietHours> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user:read_personal", userTarget(user));
  const own = await ctx.row(scheduleByUser, user.id);
  return quietHours(ctx, own && scheduleOf(own.schedule));
}

export interface SetQuietHours {
  user: string;
  /** A cron expression. Null, empty and blank restore the default. */
  schedule?: string | null;
}

const storeSchedule = statement<{ former: string | null }>(`
  with former as (select schedule from user_quiet_hours where user_id = $1),
  dropped as (delete from user_quiet_hours where user_id = $1 and $2::text is null),
  stored as (
    insert into user_quiet_hours (user_id, schedule) select $1, $2 where $2 is not null
    on conflict (user_id) do update set schedule = excluded.schedule
  )
  select (select schedule from former) as former`);

/** Sets the quiet hours of a user, or restores the default. */
export async function setQuietHours(ctx: Context, { user: ref, schedule: wanted }: SetQuietHours): Promise<QuietHours> {
  const user = await lockUser(ctx, ref, "user:update_personal");
  authorizeOn(ctx, "user:update_personal", user);
  const text = wanted?.trim() || undefined;
  if (text !== undefined) requireFeature(ctx, "advanced_template_scheduling");
  if (!ctx.config.quietHoursAllowCustom) throw forbidden("Users of this deployment cannot set their own quiet hours.");
  const problems = new Problems();
  problems.add("schedule", wanted === undefined ? "Is required." : text && scheduleProblem(text));
  problems.throwIfAny();

  const own = text ? scheduleOf(text) : undefined;
  const schedule = own && scheduleText(own);
  const { former } = (await ctx.row(storeSchedule, user.id, schedule))!;
  recordChange(ctx, user, former ?? undefined, schedule);
  return quietHours(ctx, own);
}

function recordChange(ctx: Context, { id, username }: FoundUser, old?: string, chosen?: string): void {
  if (old === chosen) return;
  const action = old === undefined ? "create" : chosen === undefined ? "delete" : "update";
  const diff = { schedule: { old, new: chosen } };
  ctx.audit({ action, resourceType: "quiet_hours", resourceId: id, resourceLabel: username, diff });
}

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
function quietHours(ctx: Context, own: DailySchedule | undefined): QuietHours {
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
