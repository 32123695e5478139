import { diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, Problems } from "../kernel/errors.js";
import { nameProblem, wholeNumber } from "../kernel/text.js";
import { nameViolated } from "./names.js";
import { findWorkspace, lockWorkspace, ofWorkspace, workspaceHint, type WorkspaceRow } from "./workspaces.js";

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

const ownsTask = statement<{ exists: boolean }>(
  "select exists (select from tasks where workspace_id = $1 and deleted_at is null) as exists",
);

const update = statement(`
  update workspaces set name = coalesce($2, name), ttl = coalesce($3, ttl), updated_at = now() where id = $1`);

/** Changes the name of a workspace, and how long it runs. Absent values stay. Returns the id. */
export async function updateWorkspace(ctx: Context, { workspace: ref, ...input }: UpdateWorkspace): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  const { name, ttlSeconds } = input;
  const diff = diffOf<Pick<WorkspaceRow, "name" | "ttlSeconds">>(workspace, { name, ttlSeconds });
  const problems = new Problems();
  if (diff.name) problems.add("name", nameProblem(name!));
  problems.add("ttlSeconds", ttlProblem(ttlSeconds));
  problems.throwIfAny();
  if (Object.keys(diff).length === 0) return workspace.id;
  if (diff.name && (await ctx.row(ownsTask, workspace.id))?.exists)
    throw conflict("The workspace has the name of its task.");
  await ctx.row(update, workspace.id, diff.name ? name : null, ttlSeconds).catch(nameViolated);
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
  ctx.publish(workspaceHint(workspace.id));
  return workspace.id;
}

export interface SetWorkspaceSecretInjection {
  workspaceId: string;
  enabled: boolean;
}

const setInjection = statement<{ old: boolean }>(`
  update workspaces w set inject_user_secrets = $2, updated_at = now()
  from (select id, inject_user_secrets from workspaces where id = $1 for no key update) before
  where w.id = before.id and before.inject_user_secrets <> $2
  returning before.inject_user_secrets as old`);

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
  const changed = await ctx.row(setInjection, workspace.id, enabled);
  const diff = { injectUserSecrets: { old: changed?.old, new: enabled } };
  if (changed) ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
  return workspace.id;
}

const activate = statement(`
  update workspaces set dormant_at = null, last_used_at = now(), autobuild_after = null, updated_at = now() where id = $1`);

/** Ends the dormancy of a workspace, which can be started again. Has no effect on others. Returns the id. */
export async function activateWorkspace(ctx: Context, ref: string): Promise<string> {
  const workspace = await lockWorkspace(ctx, ref, "update");
  if (workspace.dormantAt === null) return workspace.id;
  await ctx.row(activate, workspace.id);
  const diff = { dormantAt: { old: workspace.dormantAt, new: null } };
  ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
  ctx.publish(workspaceHint(workspace.id));
  return workspace.id;
}
