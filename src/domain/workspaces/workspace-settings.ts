import { databaseTime } from "../../runtime/clock.js";
import { Workspace } from "../../entities/workspaces.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { conflict, Problems } from "../kernel/errors.js";
import { changesOf, given, isEmpty } from "../kernel/objects.js";
import { nameProblem, wholeNumber } from "../kernel/text.js";
import { now } from "../kernel/queries.js";
import { findWorkspace, lockWorkspace, nameViolated, ofWorkspace, workspaceHint } from "./workspaces.js";

/** Seconds: ten years. */
const longest = 315_360_000;

export const ttlRule = wholeNumber(0, longest);

/** The rule that a duration violates. Absent values violate none. */
export const ttlProblem = (seconds: number | null | undefined): string | undefined =>
  seconds != null && (seconds < 0 || seconds > longest) ? ttlRule : undefined;

export interface UpdateWorkspace {
  /** Id, or `<owner>/<name>`. */
  workspace: string;
  name?: string | null;
  /** How long it runs after the following starts; 0 sets no limit. */
  ttlSeconds?: number | null;
}

/** Changes the name of a workspace, and how long it runs. Absent values stay. Returns the id. */
export async function updateWorkspace(ctx: Context, { workspace: ref, ...input }: UpdateWorkspace): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { id } = workspace;
  const { name, ttlSeconds } = input;
  const changes = changesOf(workspace, { name, ttlSeconds });
  const problems = new Problems();
  if (changes.name !== undefined) problems.add("name", nameProblem(changes.name));
  problems.add("ttlSeconds", ttlProblem(ttlSeconds));
  problems.throwIfAny();
  if (isEmpty(changes)) return id;
  if (changes.name !== undefined && (await hasTask(ctx, id))) throw conflict("The workspace has the name of its task.");
  ctx.em.assign(await ctx.em.findOneOrFail(Workspace, id), given({ name, ttl: ttlSeconds }));
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
