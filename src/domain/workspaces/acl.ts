import { authorize } from "../authorization/authorization.js";
import { accessLists, type AclChanges } from "../groups/access-lists.js";
import { groupColumns, type GroupRow, groupsWithOrganization } from "../groups/groups.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { raw, sql } from "../kernel/sql.js";
import { userColumns, type UserRow } from "../users/users.js";
import { type AccessRole, lockWorkspace, ofWorkspace, workspaceHint, type WorkspaceRow } from "./workspaces.js";

export interface UpdateWorkspaceAcl extends AclChanges {
  /** Id, or `<owner>/<name>`. */
  workspace: string;
}

const changeEntries = accessLists("workspace_acl_entries", "workspace_id");

/** Sets and removes entries of the access list of a workspace; others stay. Returns the id of the workspace. */
export async function updateWorkspaceAcl(ctx: Context, input: UpdateWorkspaceAcl): Promise<string> {
  const workspace = await lockWorkspace(ctx, input.workspace, "share");
  requireFeature(ctx, "template_rbac");
  const diff = await changeEntries(ctx, workspace, input);
  if (Object.keys(diff).length > 0) {
    ctx.audit({ action: "update", ...ofWorkspace(workspace), diff });
    ctx.publish(workspaceHint(workspace.id));
  }
  return workspace.id;
}

/** The access list of a workspace: users by username, and groups by name. */
export interface WorkspaceAcl {
  users: Array<{ user: UserRow; role: AccessRole }>;
  groups: Array<{ group: GroupRow; role: AccessRole }>;
}

const users = statement<UserRow & { role: AccessRole }>(`
  select ${userColumns}, e.role from workspace_acl_entries e join users u on u.id = e.user_id
  where e.workspace_id = $1 and u.deleted_at is null order by lower(u.username), u.id`);

/** Reads the access list of a workspace, for those who may share it. Throws FORBIDDEN for others. */
export async function readWorkspaceAcl(ctx: Context, workspace: WorkspaceRow): Promise<WorkspaceAcl> {
  authorize(ctx.actor, "workspace:share", workspace);
  const [userRows, groupRows] = await Promise.all([
    ctx.rows(users, workspace.id),
    ctx.select<GroupRow & { role: AccessRole }>(sql`
      select ${raw(groupColumns)}, 1000 as "membersAtOnce", e.role from workspace_acl_entries e join ${raw(groupsWithOrganization)} on g.id = e.group_id
      where e.workspace_id = ${workspace.id} order by g.name, g.id`),
  ]);
  return {
    users: userRows.map(({ role, ...user }) => ({ user, role })),
    groups: groupRows.map(({ role, ...group }) => ({ group, role })),
  };
}
