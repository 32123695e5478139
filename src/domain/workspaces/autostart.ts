// Starts of workspaces by the schedules of their owners, within what their templates allow.
import { sql, type SqlBool } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import { may } from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { DomainError } from "../kernel/errors.js";
import { now } from "../kernel/queries.js";
import { hour, minute } from "../../runtime/durations.js";
import { notify } from "../notifications/notify.js";
import { workspaceNotifications } from "../notifications/templates/workspace-notifications.js";
import { nextStart, type WeeklySchedule, weeklyScheduleOf } from "../quiet-hours/daily-schedule.js";
import { ownSchedules, scheduleOfUser } from "../quiet-hours/quiet-hours.js";
import { templatesById } from "../templates/templates.js";
import { systemIdentity } from "../users/system-identities.js";
import { userActor } from "../users/user-actors.js";
import { openStatuses } from "./build-status.js";
import { firstOn } from "./deadlines.js";
import { reasonOf, startFor } from "./starts.js";
import { type WorkspaceRow, workspaces } from "./workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const w = columnsOf("workspaces", "w");

/** The settings of a template for starts by schedules. */
interface AutostartRules {
  allowUserAutostart: boolean;
  /** Days of the week on which schedules start workspaces, in their time zones; 0 is Sunday. */
  autostartDays: readonly number[];
  /** Days of the week on which workspaces stop at the quiet hours of their owner. */
  autostopDays: readonly number[];
}

/** Returns when a schedule is next due after a time, whatever the template allows, for `autostartAt`. */
export const dueAfter = (schedule: WeeklySchedule, time: number): Date =>
  new Date(nextStart(schedule, time, schedule.days));

/** The days on which a schedule starts workspaces. */
function allowedDays(ctx: Context, { days }: WeeklySchedule, rules: AutostartRules): number[] {
  const isLimited = hasFeature(ctx, "advanced_template_scheduling");
  return days.filter((day) => !isLimited || rules.autostartDays.includes(day));
}

/**
 * Returns the time of a start that is due: it waits for the end of quiet hours at which the template stops workspaces.
 * Those that begin within an hour count too: the workspace would not be stopped at them, since a deadline is at least an
 * hour ahead. Quiet hours end an hour after their start.
 */
function afterQuietHours(ctx: Context, due: number, rules: AutostartRules, own: string | null): number {
  if (rules.autostopDays.length === 0 || !hasFeature(ctx, "advanced_template_scheduling")) return due;
  const start = firstOn(rules.autostopDays, scheduleOfUser(ctx, own), due - hour + 1);
  return start - hour <= due ? start + hour : due;
}

/** Returns when a workspace whose schedule is looked at, at `due`, starts; `undefined` if it does not this time. */
function startAt(ctx: Context, schedule: WeeklySchedule, due: number, rules: AutostartRules, own: string | null) {
  const days = allowedDays(ctx, schedule, rules);
  if (!rules.allowUserAutostart || days.length === 0) return undefined;
  // A start that waited for the end of quiet hours belongs to the day on which it was due.
  const isDueThen = nextStart(schedule, due - 3 * hour, days) <= due;
  return isDueThen ? afterQuietHours(ctx, due, rules, own) : undefined;
}

/** Returns when the schedule of a workspace starts it next; null if it does not. Checks no permission: the workspace does. */
export async function nextAutostart(ctx: Context, workspace: WorkspaceRow): Promise<string | null> {
  const { autostartSchedule, autostartAt, templateId, ownerId } = workspace;
  if (autostartSchedule === null || autostartAt === null) return null;
  const [rules, own] = await Promise.all([ctx.load(templatesById, templateId), ctx.load(ownSchedules, ownerId)]);
  const schedule = weeklyScheduleOf(autostartSchedule);
  const due = instantOf(autostartAt);
  if (!rules?.allowUserAutostart) return null;
  const days = allowedDays(ctx, schedule, rules);
  if (days.length === 0) return null;
  const next =
    startAt(ctx, schedule, due, rules, own) ?? afterQuietHours(ctx, nextStart(schedule, due, days), rules, own);
  return new Date(next).toISOString();
}

/** Starts that could not begin within this time, because the server was away or a build was open, are left out. */
const longestDelay = hour;

/** Maximum number of workspaces that a run of the job looks at. */
const mostAtOnce = 1000;

const dueWorkspaces = (db: Db) =>
  db
    .selectFrom("workspaces as w")
    .select("w.id")
    .where("w.deletedAt", "is", null)
    .where("w.autostartAt", "<=", now)
    .where((eb) =>
      eb.or([
        eb("w.latestStatus", "not in", openStatuses),
        sql<SqlBool>`${w.autostartAt} <= now() - make_interval(secs => ${longestDelay / 1000})`,
      ]),
    )
    .orderBy("w.autostartAt")
    .orderBy("w.id")
    .limit(mostAtOnce);

/** Locks a workspace that is due, unless another replica acts on it. */
const lockDue = (db: Db, id: string) =>
  workspaces(db)
    .where("w.id", "=", id)
    .where("w.deletedAt", "is", null)
    .where("w.autostartAt", "<=", now)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();

const lookAgain = ({ db }: Context, { id }: WorkspaceRow, autostartAt: Date | null) =>
  db.updateTable("workspaces").set({ autostartAt }).where("id", "=", id).execute();

/** Starts a workspace that is due, or moves it to the next time at which it is. */
async function startDue(ctx: Context, id: string): Promise<void> {
  const workspace = await lockDue(ctx.db, id);
  if (!workspace) return;
  const time = databaseTime();
  const due = instantOf(workspace.autostartAt!);
  const schedule = weeklyScheduleOf(workspace.autostartSchedule!);
  const [rules] = await templatesById(ctx, [workspace.templateId]);
  const [own] = await ownSchedules(ctx, [workspace.ownerId]);
  const start = time - due > longestDelay ? undefined : startAt(ctx, schedule, due, rules!, own!);
  if (start !== undefined && start > due && start > time) {
    await lookAgain(ctx, workspace, new Date(start));
    return;
  }
  if (start !== undefined && openStatuses.some((status) => status === workspace.latestStatus)) return;
  await lookAgain(ctx, workspace, dueAfter(schedule, Math.max(time, due)));
  if (start !== undefined && workspace.latestStatus === "stopped" && workspace.dormantAt === null)
    await startForOwner(ctx, workspace);
}

/** Starts a workspace within what its owner may do, unless the owner is suspended. */
async function startForOwner(ctx: Context, workspace: WorkspaceRow): Promise<void> {
  const owner = await userActor(ctx, workspace.ownerId);
  if (!owner || !may(owner, "workspace:start", { ...workspace, acl: null })) return;
  const initiatorId = await systemIdentity(ctx, "system");
  await startFor(ctx, workspace, { reason: "autostart" }, { initiatorId, starter: { actor: owner } });
}

/** Notes that a start is not possible, such as with a version that asks for new values, and tells the owner why. */
async function giveUp(ctx: Context, id: string, error: DomainError): Promise<void> {
  const workspace = await lockDue(ctx.db, id);
  if (!workspace) return;
  const { name, ownerId, organizationId, templateId } = workspace;
  await lookAgain(ctx, workspace, dueAfter(weeklyScheduleOf(workspace.autostartSchedule!), databaseTime()));
  await notify(ctx, {
    template: workspaceNotifications.autobuildFailed,
    object: { name, organizationId },
    recipients: [ownerId],
    targets: [id, templateId, ownerId, organizationId],
    labels: { name, reason: reasonOf(error) },
    data: {},
  });
}

/** Starts the workspaces that are due by their schedules, each in a transaction of its own, until `stopping` is aborted. */
async function startScheduled(services: Services, stopping?: AbortSignal): Promise<void> {
  for (const { id } of await dueWorkspaces(services.database.db).execute()) {
    if (stopping?.aborted) return;
    const ctx = systemContext(services);
    try {
      await ctx.transactional(() => startDue(ctx, id));
    } catch (error) {
      const another = systemContext(services);
      if (error instanceof DomainError && error.code !== "UNAVAILABLE")
        await another.transactional(() => giveUp(another, id, error));
      else services.log.error({ err: error, workspaceId: id }, "A workspace could not be started. Retried later.");
    }
  }
}

export const autostartJob = { name: "start workspaces by their schedules", every: minute / 4, run: startScheduled };
