import { databaseTime } from "../../runtime/clock.js";
import { Workspace } from "../../entities/workspaces.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { changesOf, given, isEmpty } from "../kernel/objects.js";
import { duration, faultOf, urlName } from "../kernel/values.js";
import { now } from "../kernel/queries.js";
import { weeklyScheduleOf, weeklyScheduleProblem, weeklyScheduleText } from "../quiet-hours/daily-schedule.js";
import { templatesById } from "../templates/templates.js";
import { dueAfter } from "./autostart.js";
import { findWorkspace, lockWorkspace, nameViolated, ofWorkspace, workspaceHint } from "./workspaces.js";

/** Seconds: ten years. */
const longest = 315_360_000;

/** Names of workspaces. */
export const workspaceName = urlName(32);

export const ttl = duration(0, longest);

/** The rule that a duration violates. Absent values violate none. */
export const ttlProblem = (seconds: number | null | undefined): string | undefined =>
  seconds == null ? undefined : faultOf(ttl, seconds);

export interface UpdateWorkspace {
  /** Id, or `<owner>/<name>`. */
  workspace: string;
  name?: string | null;
  /** How long it runs after the following starts; 0 sets no limit. */
  ttlSeconds?: number | null;
  /** When it starts by itself, as a cron expression; empty for never. */
  autostartSchedule?: string | null;
  /** Whether its starts take the active version, where the template leaves that to owners. */
  automaticUpdates?: boolean | null;
}

/** The rule that the schedule of starts violates. Absent and empty ones violate none. */
export const autostartProblem = (text: string | null | undefined): string | undefined =>
  text?.trim() ? weeklyScheduleProblem(text) : undefined;

/**
 * Returns the columns of a schedule without problems. Throws FORBIDDEN for one of a template that allows none. An absent
 * one changes nothing, an empty one ends the schedule.
 */
export async function autostartColumns(ctx: Context, templateId: string, text: string | null | undefined) {
  if (text == null) return {};
  if (text.trim() === "") return { autostartSchedule: null, autostartAt: null };
  const [template] = await templatesById(ctx, [templateId]);
  if (!template?.allowUserAutostart) throw forbidden("The template does not allow starts by a schedule.");
  const schedule = weeklyScheduleOf(text);
  return {
    autostartSchedule: weeklyScheduleText(schedule),
    autostartAt: dueAfter(schedule, databaseTime()),
  };
}

/**
 * Changes the name of a workspace, how long it runs, when it starts by itself, and whether it is updated. Absent values
 * stay. Returns the id.
 */
export async function updateWorkspace(ctx: Context, { workspace: ref, ...input }: UpdateWorkspace): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { id } = workspace;
  const { name, ttlSeconds, autostartSchedule, automaticUpdates } = input;
  const changes = changesOf(workspace, { name, ttlSeconds, automaticUpdates });
  const problems = new Problems();
  if (changes.name !== undefined) problems.add("name", faultOf(workspaceName, changes.name));
  problems.add("ttlSeconds", ttlProblem(ttlSeconds));
  problems.add("autostartSchedule", autostartProblem(autostartSchedule));
  problems.throwIfAny();
  const schedule = await autostartColumns(ctx, workspace.templateId, autostartSchedule);
  const isSame = schedule.autostartSchedule === undefined || schedule.autostartSchedule === workspace.autostartSchedule;
  if (isEmpty(changes) && isSame) return id;
  if (changes.name !== undefined && (await hasTask(ctx, id))) throw conflict("The workspace has the name of its task.");
  ctx.em.assign(await ctx.em.findOneOrFail(Workspace, id), {
    ...given({ name, ttl: ttlSeconds, automaticUpdates }),
    ...(isSame ? {} : schedule),
  });
  await ctx.em.flush().catch(nameViolated);
  ctx.publish(workspaceHint(id));
  return id;
}

async function hasTask({ db }: Context, workspaceId: string): Promise<boolean> {
  const task = db
    .selectFrom("tasks")
    .select("id")
    .where("workspaceId", "=", workspaceId)
    .where("deletedAt", "is", null);
  return (await task.executeTakeFirst()) !== undefined;
}

export interface SetWorkspaceSecretInjection {
  workspaceId: string;
  enabled: boolean;
}

/**
 * Sets whether the agents of a workspace receive the secrets of its owner from the next start on. Throws FORBIDDEN for
 * everyone but the owner. Returns the id.
 */
export async function setWorkspaceSecretInjection(
  ctx: Context,
  { workspaceId, enabled }: SetWorkspaceSecretInjection,
): Promise<string> {
  const workspace = await findWorkspace(ctx, workspaceId);
  authorize(ctx.actor, "user_secret:update", workspace);
  const changed = await ctx.db
    .updateTable("workspaces")
    .set({ injectUserSecrets: enabled, updatedAt: now })
    .where("id", "=", workspace.id)
    .where("injectUserSecrets", "<>", enabled)
    .returning("id")
    .executeTakeFirst();
  const diff = { injectUserSecrets: { old: !enabled, new: enabled } };
  if (changed) ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
  return workspace.id;
}

/** Ends the dormancy of a workspace, which can be started again. Has no effect on others. Returns the id. */
export async function activateWorkspace(ctx: Context, ref: string): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { id, dormantAt } = workspace;
  if (dormantAt === null) return id;
  const used = { dormantAt: null, lastUsedAt: new Date(databaseTime()), autobuildAfter: null };
  ctx.em.assign(await ctx.em.findOneOrFail(Workspace, id), used);
  await ctx.em.flush();
  ctx.publish(workspaceHint(id));
  return id;
}
