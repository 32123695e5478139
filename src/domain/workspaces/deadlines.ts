// The deadlines of workspaces: how they are computed when a start ends, extended by people and activity, and moved when the
// settings change from which they were computed.
import { type Expression, type ExpressionBuilder, type InferResult, sql, type SqlBool } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { Workspace } from "../../entities/workspaces.js";
import { hasFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { conflict, Problems } from "../kernel/errors.js";
import { anyOf, jsonOf, now } from "../kernel/queries.js";
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
const workspaceBuilds = columnsOf("workspaceBuilds");

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

/** The settings that have changed. */
interface Change {
  /** The former time to live of the template, in seconds, if it has changed. */
  formerTtl?: number | undefined;
  /** Who has changed the quiet hours at which workspaces stop, if they have: their owner, or the template by its days. */
  stopsBy?: "owner" | "template" | undefined;
}

/** Moves the deadlines of the workspaces of a user whose quiet hours have changed in this transaction. */
export const quietHoursChanged = (ctx: Context, userId: string): Promise<void> =>
  moveDeadlines(ctx, (eb) => eb("w.ownerId", "=", userId), { stopsBy: "owner" });

/** Moves the deadlines of the workspaces of a template whose settings have changed in this transaction. */
export const templateTimesChanged = (ctx: Context, templateId: string, change: Change): Promise<void> =>
  moveDeadlines(ctx, (eb) => eb("w.templateId", "=", templateId), change);

/** Locks the workspaces that run, in the order of their ids. */
const running = (ctx: Context) =>
  ctx.db
    .selectFrom("workspaces as w")
    .innerJoin("workspaceBuilds as b", "b.id", "w.latestBuildId")
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .innerJoin("templates as t", "t.id", "w.templateId")
    .leftJoin("userQuietHours as q", "q.userId", "w.ownerId")
    .select([
      "w.id",
      "b.id as buildId",
      "j.completedAt",
      "w.ttl as ownTtl",
      "t.defaultTtl",
      "t.autostopDays",
      "q.schedule",
      "b.deadline",
      "b.maxDeadline",
      "b.plannedDeadline",
    ])
    .where("w.deletedAt", "is", null)
    .where("w.prebuiltPresetId", "is", null)
    .where("w.latestStatus", "=", "running")
    .where("j.completedAt", "is not", null)
    .orderBy("w.id")
    .forNoKeyUpdate("w");

type Running = InferResult<ReturnType<typeof running>>[number];
type Workspaces = ExpressionBuilder<{ w: { ownerId: string; templateId: string } }, "w">;

async function moveDeadlines(
  ctx: Context,
  among: (eb: Workspaces) => Expression<SqlBool>,
  change: Change,
): Promise<void> {
  const time = databaseTime();
  const found = await running(ctx)
    .where(among as never)
    .execute();
  const moved = found.flatMap((workspace) => {
    const { deadline, latest, planned } = timesOf(ctx, workspace, change, time);
    const isSame = deadline === timeIn(workspace.deadline) && latest === timeIn(workspace.maxDeadline);
    if (isSame) return [];
    const times = { deadline, maxDeadline: latest, plannedDeadline: planned };
    return { id: workspace.id, buildId: workspace.buildId, ...mapValues(times, dateOf) };
  });
  if (moved.length === 0) return;
  const rows = jsonOf(moved);
  await sql`
    update workspaces w set deadline = r.deadline, ${workspaceBuilds.updatedAt} = ${now}
    from jsonb_to_recordset(${rows}::jsonb) r (id uuid, deadline timestamptz) where w.id = r.id`.execute(ctx.db);
  await sql`
    update workspace_builds b set deadline = r.deadline, ${workspaceBuilds.maxDeadline} = r.max_deadline,
      ${workspaceBuilds.plannedDeadline} = r.planned_deadline, ${workspaceBuilds.updatedAt} = ${now}
    from jsonb_to_recordset(${rows}::jsonb)
      r (build_id uuid, deadline timestamptz, ${workspaceBuilds.maxDeadline} timestamptz, ${workspaceBuilds.plannedDeadline} timestamptz)
    where b.id = r.build_id`.execute(ctx.db);
  ctx.publish(...moved.map(({ id }) => workspaceHint(id)));
}

/** Unix milliseconds; `Infinity` without a limit. */
interface Times {
  deadline: number;
  latest: number;
  planned: number;
}

const timeIn = (text: string | null): number => (text === null ? Infinity : instantOf(text));
const dateOf = (time: number): string | null => (time === Infinity ? null : new Date(time).toISOString());
const mapValues = <Key extends string, From, To>(of: Record<Key, From>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries<From>(of).map(([key, value]) => [key, map(value)])) as Record<Key, To>;

/**
 * Computes the deadlines of a workspace again: the end of its start and the time to live, or the time to which people or
 * activity have moved it if that is later. What changes is at least an hour ahead.
 */
function timesOf(ctx: Context, workspace: Running, change: Change, time: number): Times {
  const { ownTtl, defaultTtl, deadline: text, maxDeadline, plannedDeadline } = workspace;
  const start = instantOf(workspace.completedAt!);
  const former = timeIn(text);
  const formerLatest = timeIn(maxDeadline);
  const latest = change.stopsBy === undefined ? formerLatest : latestOf(ctx, workspace, change.stopsBy, time);
  const after = (seconds: number) => (seconds > 0 ? start + seconds * 1000 : Infinity);
  const ttl = ownTtl ?? defaultTtl;
  const isFollowing = ownTtl === null && change.formerTtl !== undefined;
  const formerPlan =
    plannedDeadline === null
      ? Math.min(after(isFollowing ? change.formerTtl! : ttl), formerLatest)
      : timeIn(plannedDeadline);
  const moved = former !== Infinity && former > formerPlan ? former : -Infinity;

  // A deadline that neither its template nor the quiet hours gave now stays as it is.
  const kept = isFollowing || former === formerLatest ? -Infinity : former;
  const planned = Math.max(after(ttl), ttl > 0 ? kept : -Infinity);
  const wanted = Math.min(ttl > 0 ? Math.max(planned, moved) : Infinity, latest);
  if (wanted === former) return { deadline: former, latest, planned: Math.min(planned, latest) };
  const ahead = (each: number) => Math.min(Math.max(each, time + hour), latest);
  return { deadline: ahead(wanted), latest, planned: ahead(planned) };
}

/**
 * Returns the first quiet hours that are at least an hour ahead, on an autostop day. Owners cannot put them off by moving
 * them to a time of day that has passed: the workspace then stops when it would have before.
 */
function latestOf(ctx: Context, workspace: Running, by: "owner" | "template", time: number): number {
  const { autostopDays: days, schedule: own, completedAt, maxDeadline } = workspace;
  if (days.length === 0 || !hasFeature(ctx, "advanced_template_scheduling")) return Infinity;
  const schedule = scheduleOfUser(ctx, own);
  const next = firstOn(days, schedule, time + hour);
  const sinceStart = firstOn(days, schedule, instantOf(completedAt!) + hour);
  return by === "owner" && sinceStart < next ? Math.min(next, timeIn(maxDeadline)) : next;
}
