import { databaseTime } from "../../runtime/clock.js";
import { Workspace } from "../../entities/workspaces.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { conflict, forbidden, Problems } from "../kernel/errors.js";
import { changesOf, isEmpty, pickGiven } from "../kernel/changed-fields.js";
import { check, duration, flag, inputOf, type Input, optional, required, urlName, uuid } from "../kernel/values.js";
import { now } from "../kernel/queries.js";
import { weeklySchedule, weeklyScheduleOf, weeklyScheduleText } from "../quiet-hours/daily-schedule.js";
import { templatesById } from "../templates/templates.js";
import { dueAfter } from "./autostart.js";
import {
  findWorkspace,
  lockWorkspace,
  nameViolated,
  ofWorkspace,
  workspaceHint,
  namedWorkspace,
} from "./workspaces.js";
import { longestName } from "../../entities/lengths.js";

/** Seconds: ten years. */
const longest = 315_360_000;

/** Names of workspaces. */
export const workspaceName = urlName(longestName);

export const ttl = duration(0, longest);

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

export const UpdateWorkspace = inputOf({
  workspace: namedWorkspace,
  name: optional(workspaceName, "New name."),
  ttlSeconds: optional(ttl, "Seconds that it runs after the following starts; 0 sets no limit."),
  autostartSchedule: optional(
    weeklySchedule,
    "When it starts by itself: minute, hour, and days of the week of a cron expression, `0 9 * * 1-5`, after `CRON_TZ=<IANA zone>` if not in UTC. Empty ends the schedule.",
  ),
  automaticUpdates: optional(
    flag,
    "Whether its starts take the active version, where the template leaves that to the owner.",
  ),
});
export type UpdateWorkspace = Input<typeof UpdateWorkspace>;

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
  check(UpdateWorkspace, { name: changes.name, ttlSeconds, autostartSchedule }, problems);
  problems.throwIfAny();
  const schedule = await autostartColumns(ctx, workspace.templateId, autostartSchedule);
  const isSame = schedule.autostartSchedule === undefined || schedule.autostartSchedule === workspace.autostartSchedule;
  if (isEmpty(changes) && isSame) return id;
  if (changes.name !== undefined && (await hasTask(ctx, id))) throw conflict("The workspace has the name of its task.");
  ctx.em.assign(await ctx.em.findOneOrFail(Workspace, id), {
    ...pickGiven({ name, ttl: ttlSeconds, automaticUpdates }),
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

export const SetWorkspaceSecretInjection = inputOf({
  workspaceId: required(uuid, "ID of the workspace."),
  enabled: required(flag, "Whether agents receive the secrets of the owner from the next start on."),
});
export type SetWorkspaceSecretInjection = Input<typeof SetWorkspaceSecretInjection>;

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
