import { type Expression, type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { Workspace } from "../../entities/workspaces.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { type Action, authorize, may, sees } from "../authorization/authorization.js";
import { groupIdsOf, groupsHint } from "../groups/memberships.js";
import { type Actor, userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflictOn, notFound, onViolation } from "../kernel/errors.js";
import type { Hint } from "../../runtime/events.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { isUuid } from "../../runtime/text.js";
import { idOfUserNamed } from "../users/users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { reference, required } from "../kernel/values.js";

/** The description of workspaces in inputs. */
const workspaceReference = "The workspace: ID, or `<owner>/<name>`, where the owner may be `me`.";

/** The field of inputs that names a workspace. */
export const namedWorkspace = required(reference, workspaceReference);

const e = columnsOf("workspaceAclEntries", "e");
const w = columnsOf("workspaces", "w");

export { WorkspaceStatus, WorkspaceTransition } from "./build-status.js";

/** Workspaces `w`, deleted ones included. */
export const workspaces = (db: Db) =>
  db
    .selectFrom("workspaces as w")
    .select([
      "w.id",
      "w.createdAt",
      "w.updatedAt",
      "w.organizationId",
      "w.ownerId",
      "w.name",
      "w.templateId",
      "w.prebuiltPresetId",
      "w.ttl as ttlSeconds",
      "w.autostartSchedule",
      "w.autostartAt",
      "w.automaticUpdates",
      "w.lastUsedAt",
      "w.dormantAt",
      "w.pinnedDaemonId",
      "w.injectUserSecrets",
      "w.latestBuildId",
      "w.latestTransition",
      "w.latestStatus",
      "w.deadline",
    ]);

export type WorkspaceRow = InferResult<ReturnType<typeof workspaces>>[number];

/** The roles in access lists of workspaces. */
export const WorkspaceRole = { USE: "use", ADMIN: "admin" } as const;
export type AccessRole = (typeof WorkspaceRole)[keyof typeof WorkspaceRole];

/** A workspace with the role of the caller in its access list, by which the policy decides. */
export interface FoundWorkspace extends WorkspaceRow {
  acl: AccessRole | null;
}

/** Whether the entry `e` of an access list has not expired. */
const isInForce = sql<boolean>`(${e.expiresAt} is null or ${e.expiresAt} > now())`;

/** The role of the caller in the access list of the workspace `w`; null without one. */
export function workspaceAcl({ actor }: Pick<Context, "actor">) {
  const userId = userIdOf(actor) ?? null;
  // `admin` comes first in the alphabet.
  return sql<AccessRole | null>`(
    select min(e.role) from workspace_acl_entries e where ${e.workspaceId} = w.id and ${isInForce}
      and (${e.userId} = ${userId}::uuid or ${e.groupId} = any(array(${groupIdsOf(userId)}))))`.as("acl");
}

/** Selects the ids of the workspaces that are shared with a user or a group of the user. */
export const sharedWith = (userId: string | null) => sql<string>`
  select ${e.workspaceId} from workspace_acl_entries e where ${e.userId} = ${userId}::uuid and ${isInForce}
  union all select ${e.workspaceId} from workspace_acl_entries e
    where ${e.groupId} = any(array(${groupIdsOf(userId)})) and ${isInForce}`;

const foundWorkspaces = (ctx: Context) => workspaces(ctx.db).select(workspaceAcl(ctx));

/** Reads a workspace that may be deleted. Returns `undefined` if the caller may not read it. */
export async function readWorkspace(ctx: Context, id: string): Promise<FoundWorkspace | undefined> {
  const workspace = await foundWorkspaces(ctx).where("w.id", "=", id).executeTakeFirst();
  return workspace && sees(ctx.actor, "workspace:read", workspace) ? workspace : undefined;
}

/** Finds a workspace by id, or by `<owner>/<name>`. Throws NOT_FOUND if the caller may not read it. */
export async function findWorkspace(ctx: Context, ref: string): Promise<FoundWorkspace> {
  if (isUuid(ref)) return findOne(ctx, sql`w.id = ${ref}`);
  const [owner = "", name = "", ...rest] = ref.split("/");
  if (rest.length > 0 || owner === "" || name === "") throw notFound();
  return findWorkspaceByName(ctx, owner, name);
}

/**
 * Finds a workspace by the id, username or `me` of its owner, and its name in any letter case. Only the permission to read
 * the workspace counts: whom it is shared with may not read the owner.
 */
export function findWorkspaceByName(ctx: Context, owner: string, name: string): Promise<FoundWorkspace> {
  return findOne(ctx, sql`${w.ownerId} = ${idOfUserNamed(ctx, owner)} and lower(w.name) = lower(${name})`);
}

async function findOne(ctx: Context, isIt: Expression<SqlBool>): Promise<FoundWorkspace> {
  const workspace = await foundWorkspaces(ctx).where("w.deletedAt", "is", null).where(isIt).executeTakeFirst();
  if (!workspace || !sees(ctx.actor, "workspace:read", workspace)) throw notFound();
  return workspace;
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

/**
 * Finds a workspace on which the caller may do the action, and locks it until the transaction ends: no other one changes
 * it or adds builds. Throws NOT_FOUND if it is not readable, otherwise FORBIDDEN.
 */
export async function lockWorkspace(ctx: Context, ref: string, action: Action<"workspace">): Promise<FoundWorkspace> {
  const { id, acl, ownerId } = await requireWorkspace(ctx, ref, action);
  // Not `for update`, which would block inserts of rows that refer to the workspace.
  const locked = workspaces(ctx.db).where("w.id", "=", id).where("w.deletedAt", "is", null).forNoKeyUpdate();
  const workspace = await locked.executeTakeFirst();
  if (!workspace) throw notFound();
  // A claim changes the owner, and so does a transfer, which ends what was shared.
  const found = { ...workspace, acl: workspace.ownerId === ownerId ? acl : null };
  authorizeOn(ctx.actor, action, found);
  return found;
}

/** Finds a workspace on which the caller may do the action. Throws NOT_FOUND, or FORBIDDEN if it is readable. */
async function requireWorkspace(ctx: Context, ref: string, action: Action<"workspace">): Promise<FoundWorkspace> {
  const workspace = await findWorkspace(ctx, ref);
  authorizeOn(ctx.actor, action, workspace);
  return workspace;
}

/** Batch read of workspaces by id, deleted ones included. Checks no permission: the object that has the id does. */
export async function workspacesById(ctx: Context, ids: readonly string[]): Promise<Array<WorkspaceRow | undefined>> {
  const rows = await workspaces(ctx.db).where("w.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
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

auditChangesOf(Workspace, {
  resource: ({ id, organization }, before) =>
    ofWorkspace({ id, name: before("name"), organizationId: organization.id }),
  fields: ["name", "ttl", "autostartSchedule", "automaticUpdates", "dormantAt", "deadline"],
  names: { ttl: "ttlSeconds" },
});

/** Handles failed writes of workspaces. Throws CONFLICT if the owner has another one of the name. */
export const nameViolated = onViolation({
  workspaces_name_unique: () => conflictOn("name", "The owner has another workspace of this name."),
});
