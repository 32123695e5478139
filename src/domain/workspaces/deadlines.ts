import { hasFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { hour } from "../kernel/purge.js";
import { type DailySchedule, nextStart } from "../quiet-hours/daily-schedule.js";
import { scheduleOfUser } from "../quiet-hours/quiet-hours.js";
import { offsetAt } from "../quiet-hours/time-zones.js";

/** What the deadlines of a workspace follow from. */
export interface Limits {
  /** Seconds after the start; 0 sets no limit. */
  ttl: number;
  /** Days of the week on which it stops at the quiet hours of its owner; 0 is Sunday. */
  autostopDays: readonly number[];
  /** The own quiet hours of the owner; null for those of the deployment. */
  schedule: string | null;
  /** Prebuilt workspaces have no deadline until they are claimed. */
  prebuiltPresetId: string | null;
}

/** RFC 3339; null if there is no limit. */
export interface Deadlines {
  deadline: string | null;
  /** The deadline is never moved past it. */
  maxDeadline: string | null;
}

/** Returns the deadlines of a workspace whose start ended at `now`, in Unix milliseconds. */
export function deadlinesAt(ctx: Context, limits: Limits, now: number): Deadlines {
  const { ttl, autostopDays, schedule, prebuiltPresetId } = limits;
  if (prebuiltPresetId !== null) return { deadline: null, maxDeadline: null };
  const days = hasFeature(ctx, "advanced_template_scheduling") ? autostopDays : [];
  const latest = days.length > 0 ? firstOn(days, scheduleOfUser(ctx, schedule), now + hour) : Infinity;
  const deadline = Math.min(ttl > 0 ? now + ttl * 1000 : Infinity, latest);
  return { deadline: momentOf(deadline), maxDeadline: momentOf(latest) };
}

const momentOf = (time: number): string | null => (time === Infinity ? null : new Date(time).toISOString());

/** Returns the first start of a schedule at or after an instant on one of some days of the week, in its time zone. */
function firstOn(days: readonly number[], schedule: DailySchedule, earliest: number): number {
  let start = nextStart(schedule, earliest - 1);
  while (!days.includes(new Date(start + offsetAt(schedule.zone, start)).getUTCDay()))
    start = nextStart(schedule, start);
  return start;
}
