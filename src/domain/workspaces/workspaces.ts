import { Workspace } from "../../entities/workspaces.js";
import { auditedAs } from "../audit/audit.js";
import { type Action, authorize, may, sees } from "../authorization/authorization.js";
import { groupsHint, memberships } from "../groups/memberships.js";
import { type Actor, userIdOf } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import type { Hint } from "../kernel/events.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";
import type { WorkspaceStatus, WorkspaceTransition } from "./status.js";

export { WorkspaceStatus, WorkspaceTransition } from "./status.js";

const columns = columnsOf(Workspace, "w", [
  "id",
  "createdAt",
  "updatedAt",
  "organizationId",
  "ownerId",
  "name",
  "templateId",
  "prebuiltPresetId",
  "lastUsedAt",
  "dormantAt",
  "pinnedDaemonId",
  "injectUserSecrets",
  "latestBuildId",
  "latestTransition",
  "latestStatus",
  "deadline",
]);

/** The select list of workspaces `w`. */
export const workspaceColumns = `${columns}, w.ttl as "ttlSeconds"`;

export interface WorkspaceRow extends RowOf<typeof columns> {
  /** How long it runs after a start, instead of the value of its template; 0 sets no limit. */
  ttlSeconds: number | null;
  latestTransition: WorkspaceTransition | null;
  latestStatus: WorkspaceStatus;
}

/** The roles in access lists of workspaces. */
export const WorkspaceRole = { USE: "use", ADMIN: "admin" } as const;
export type AccessRole = (typeof WorkspaceRole)[keyof typeof WorkspaceRole];

/** A workspace with the role of the caller in its access list, by which the policy decides. */
export interface FoundWorkspace extends WorkspaceRow {
  acl: AccessRole | null;
}

/**
 * SQL for the role of a user, such as `$1`, in the access list of the workspace of alias `w`; null without one. `admin`
 * comes first in the alphabet.
 */
export const accessOf = (w: string, user: string): string => `(
  select min(e.role) from workspace_acl_entries e where e.workspace_id = ${w}.id and (e.user_id = ${user}::uuid
    or e.group_id = any(array(select group_id from ${memberships} m where m.user_id = ${user}::uuid))))`;

/** Selects the ids of the workspaces that are shared with a user or a group of the user. */
export const sharedWith = (userId: string | null): Sql => sql`
  select e.workspace_id from workspace_acl_entries e where e.user_id = ${userId}::uuid
  union all select e.workspace_id from workspace_acl_entries e
    where e.group_id = any(array(select group_id from ${raw(memberships)} m where m.user_id = ${userId}::uuid))`;

/** The condition that the workspace with an id, given in SQL, is shared with a user or a group of the user. */
export const isSharedWith = (workspaceId: string, userId: string | null): Sql =>
  sql`${raw(workspaceId)} = any(array(${sharedWith(userId)}))`;

const found = (user: string) => `
  select ${workspaceColumns}, ${accessOf("w", user)} as acl from workspaces w where w.deleted_at is null`;

const byId = lookup<FoundWorkspace>(`${found("$2")} and w.id = $1`);
const byName = lookup<FoundWorkspace>(`${found("$3")} and w.owner_id = $1 and lower(w.name) = lower($2)`);

const readable = (ctx: Context, workspace: FoundWorkspace | undefined): FoundWorkspace => {
  if (!workspace || !sees(ctx.actor, "workspace:read", workspace)) throw notFound();
  return workspace;
};

const anyById = lookup<FoundWorkspace>(
  `select ${workspaceColumns}, ${accessOf("w", "$2")} as acl from workspaces w where w.id = $1`,
);

/** Reads a workspace that may be deleted. Returns `undefined` if the caller may not read it. */
export async function readWorkspace(ctx: Context, id: string): Promise<FoundWorkspace | undefined> {
  const workspace = await ctx.row(anyById, id, userIdOf(ctx.actor) ?? null);
  return workspace && sees(ctx.actor, "workspace:read", workspace) ? workspace : undefined;
}

/** Finds a workspace by id, or by `<owner>/<name>`. Throws NOT_FOUND if the caller may not read it. */
export async function findWorkspace(ctx: Context, ref: string): Promise<FoundWorkspace> {
  if (isUuid(ref)) return readable(ctx, await ctx.row(byId, ref, userIdOf(ctx.actor) ?? null));
  const [owner = "", name = "", ...rest] = ref.split("/");
  if (rest.length > 0 || owner === "" || name === "") throw notFound();
  return findWorkspaceByName(ctx, owner, name);
}

/** Finds a workspace by the id, username or `me` of its owner, and its name in any letter case. */
export async function findWorkspaceByName(ctx: Context, owner: string, name: string): Promise<FoundWorkspace> {
  const ownerId = owner === "me" ? userIdOf(ctx.actor) : isUuid(owner) ? owner : (await findUser(ctx, owner)).id;
  if (ownerId === undefined) throw notFound();
  return readable(ctx, await ctx.row(byName, ownerId, name, userIdOf(ctx.actor) ?? null));
}

/** Actions that prebuilt workspaces have permissions of their own for. */
const ofPrebuilds = ["read", "update", "delete"] as const;
type OfPrebuilds = (typeof ofPrebuilds)[number];

/** Throws FORBIDDEN unless the actor may do the action on the workspace. */
export function authorizeOn(actor: Actor, action: Action<"workspace">, workspace: FoundWorkspace): void {
  const isOfPrebuilds = workspace.prebuiltPresetId !== null && ofPrebuilds.includes(action as OfPrebuilds);
  if (isOfPrebuilds && may(actor, `prebuilt_workspace:${action as OfPrebuilds}`, workspace)) return;
  authorize(actor, `workspace:${action}`, workspace);
}

// Not `for update`, which would block inserts of rows that refer to the workspace.
const locking = statement<WorkspaceRow>(
  `select ${workspaceColumns} from workspaces w where w.id = $1 and w.deleted_at is null for no key update`,
);

/**
 * Finds a workspace on which the caller may do the action, and locks it until the transaction ends: no other one changes
 * it or adds builds. Throws NOT_FOUND if it is not readable, otherwise FORBIDDEN.
 */
export async function lockWorkspace(ctx: Context, ref: string, action: Action<"workspace">): Promise<FoundWorkspace> {
  const { id, acl } = await requireWorkspace(ctx, ref, action);
  const workspace = await ctx.row(locking, id);
  if (!workspace) throw notFound();
  // A claim changes the owner.
  authorizeOn(ctx.actor, action, { ...workspace, acl });
  return { ...workspace, acl };
}

/** Finds a workspace on which the caller may do the action. Throws NOT_FOUND, or FORBIDDEN if it is readable. */
export async function requireWorkspace(
  ctx: Context,
  ref: string,
  action: Action<"workspace">,
): Promise<FoundWorkspace> {
  const workspace = await findWorkspace(ctx, ref);
  authorizeOn(ctx.actor, action, workspace);
  return workspace;
}

const byIds = lookup<WorkspaceRow>(`select ${workspaceColumns} from workspaces w where w.id = any($1::uuid[])`);

/** Batch read of workspaces by id, deleted ones included. Checks no permission: the object that has the id does. */
export async function workspacesById(ctx: Context, ids: readonly string[]): Promise<Array<WorkspaceRow | undefined>> {
  const workspaces = new Map((await ctx.rows(byIds, ids)).map((each) => [each.id, each]));
  return ids.map((id) => workspaces.get(id));
}

/** The hint that a workspace or its latest build changed. */
export const workspaceHint = (id: string) => ({ topic: "builds", id }) as const;

/** The hints that the access of the caller to a workspace may have changed, besides those of its own roles. */
export function accessHints({ actor }: Context, id: string): Hint[] {
  const userId = userIdOf(actor);
  return [workspaceHint(id), ...(userId === undefined ? [] : [groupsHint(userId)])];
}

export const ofWorkspace = ({ id, name, organizationId }: Pick<WorkspaceRow, "id" | "name" | "organizationId">) =>
  auditedAs("workspace", id, name, organizationId);
