import { sql, type SqlBool } from "kysely";
import { Workspace } from "../../entities/workspaces.js";
import { hasFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { conflict, Problems } from "../kernel/errors.js";
import { anyOf, now } from "../kernel/queries.js";
import { hour } from "../../runtime/durations.js";
import { offsetAt } from "../../runtime/time-zones/zone-data.js";
import { type DailySchedule, nextStart } from "../quiet-hours/daily-schedule.js";
import { scheduleOfUser } from "../quiet-hours/quiet-hours.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { lockWorkspace, workspaceHint, namedWorkspace } from "./workspaces.js";
import { dateTime, inputOf, required, type Input } from "../kernel/values.js";

const t = columnsOf("templates", "t");
const b = columnsOf("workspaceBuilds", "b");
const w = columnsOf("workspaces", "w");

/** The values from which the deadlines of a workspace are computed. */
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

/** Returns the deadlines of a workspace whose start ended at `time`, in Unix milliseconds. */
export function deadlinesAt(ctx: Context, limits: Limits, time: number): Deadlines {
  const { ttl, autostopDays, schedule, prebuiltPresetId } = limits;
  if (prebuiltPresetId !== null) return { deadline: null, maxDeadline: null };
  const days = hasFeature(ctx, "advanced_template_scheduling") ? autostopDays : [];
  const latest = days.length > 0 ? firstOn(days, scheduleOfUser(ctx, schedule), time + hour) : Infinity;
  const deadline = Math.min(ttl > 0 ? time + ttl * 1000 : Infinity, latest);
  return { deadline: momentOf(deadline), maxDeadline: momentOf(latest) };
}

const momentOf = (time: number): string | null => (time === Infinity ? null : new Date(time).toISOString());

/** Returns the first start of a schedule at or after an instant on one of some days of the week, in its time zone. */
export function firstOn(days: readonly number[], schedule: DailySchedule, earliest: number): number {
  let start = nextStart(schedule, earliest - 1);
  while (!days.includes(new Date(start + offsetAt(schedule.zone, start)).getUTCDay()))
    start = nextStart(schedule, start);
  return start;
}

/** The deadline after activity now. */
const bumped = sql<string>`least(now() + make_interval(secs => ${t.activityBump}), ${b.maxDeadline})`;

/**
 * Notes that people or programs use workspaces: moves their deadlines to now plus the activity bump of the template,
 * not past the maximum, and never back. Activity within a minute of the previous one writes nothing. Never waits for
 * locks: workspaces that are being changed are left alone.
 */
export async function noteActivity(ctx: Context, workspaceIds: readonly string[]): Promise<void> {
  const used = await ctx.db
    .with("used", (db) =>
      db
        .selectFrom("workspaces as w")
        .innerJoin("templates as t", "t.id", "w.templateId")
        .leftJoin("workspaceBuilds as b", "b.id", "w.latestBuildId")
        .select([
          "w.id",
          "w.latestBuildId",
          sql<string | null>`case when w.deadline is not null and ${w.latestStatus} = 'running'
            then greatest(w.deadline, ${bumped}) end`.as("deadline"),
        ])
        .where("w.id", "=", anyOf(workspaceIds))
        .where("w.deletedAt", "is", null)
        .where(
          sql<SqlBool>`(${w.lastUsedAt} < now() - interval '1 minute' or w.deadline < ${bumped} - interval '1 minute')`,
        )
        .orderBy("w.id")
        .forNoKeyUpdate("w")
        .skipLocked(),
    )
    .with("moved", (db) =>
      db
        .updateTable("workspaceBuilds as b")
        .from("used")
        .set((eb) => ({ deadline: eb.ref("used.deadline") }))
        .whereRef("b.id", "=", "used.latestBuildId")
        .whereRef("b.deadline", "<>", "used.deadline"),
    )
    .updateTable("workspaces as w")
    .from("used")
    .set(({ fn }) => ({ lastUsedAt: now, deadline: fn.coalesce("used.deadline", "w.deadline") }))
    .whereRef("w.id", "=", "used.id")
    .returning("w.id")
    .execute();
  ctx.publish(...used.map(({ id }) => workspaceHint(id)));
}

export const ExtendWorkspaceDeadline = inputOf({
  workspace: namedWorkspace,
  deadline: required(
    dateTime,
    "New deadline: later than the present one, and not later than `maxDeadline` of the latest build.",
  ),
});
export type ExtendWorkspaceDeadline = Input<typeof ExtendWorkspaceDeadline>;

/**
 * Moves the deadline of a running workspace to a later time. Throws CONFLICT if it does not run or has no deadline,
 * BAD_USER_INPUT for a time that is not later, or later than its maximum. Returns the id.
 */
export async function extendWorkspaceDeadline(
  ctx: Context,
  { workspace: ref, deadline }: ExtendWorkspaceDeadline,
): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { id, latestBuildId, latestStatus, deadline: old } = workspace;
  if (latestStatus !== "running") throw conflict("The workspace is not running.");
  if (old === null) throw conflict("The workspace has no deadline.");
  const { maxDeadline, time } = await ctx.db
    .selectFrom("workspaceBuilds")
    .select(["maxDeadline", now.as("time")])
    .where("id", "=", latestBuildId)
    .executeTakeFirstOrThrow();
  const problems = new Problems();
  if (deadline < old || deadline <= time) problems.add("deadline", "Must be later than the current deadline.");
  else if (maxDeadline !== null && deadline > maxDeadline) problems.add("deadline", `Must be at most ${maxDeadline}.`);
  problems.throwIfAny();
  if (deadline === old) return id;
  ctx.em.assign(await ctx.em.findOneOrFail(Workspace, id), { deadline: new Date(deadline) });
  await ctx.em.flush();
  const moved = { deadline, updatedAt: now };
  await ctx.db.updateTable("workspaceBuilds").set(moved).where("id", "=", latestBuildId).execute();
  ctx.publish(workspaceHint(id));
  return id;
}
