import { auditedAs } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { lockMemberships } from "../groups/memberships.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict } from "../kernel/errors.js";
import { userHint } from "../tokens/credentials.js";
import { type FoundUser, type Membership, type UserRow, userTarget } from "../users/users.js";

const deleteMember = statement<{ ownsWorkspaces: boolean }>(`
  with template_entries as (
    delete from template_acl_entries e using templates t
    where e.user_id = $2 and t.id = e.template_id and t.organization_id = $1
  ), workspace_entries as (
    delete from workspace_acl_entries e using workspaces w
    where e.user_id = $2 and w.id = e.workspace_id and w.organization_id = $1
  )
  delete from organization_members where organization_id = $1 and user_id = $2
  returning exists (
    select from workspaces where owner_id = $2 and organization_id = $1 and deleted_at is null) as "ownsWorkspaces"`);

/**
 * Deletes a membership with its roles, groups, and entries of access lists. The caller has locked the user and was
 * authorized. Throws CONFLICT for owners of workspaces of the organization.
 */
export async function endMembership(
  ctx: Context,
  { id, username }: Pick<UserRow, "id" | "username">,
  { organizationId, roles }: Membership,
): Promise<void> {
  await lockMemberships(ctx, { organizationId, userId: id });
  const deleted = await ctx.row(deleteMember, organizationId, id);
  if (deleted?.ownsWorkspaces) throw conflict("The user owns workspaces. Delete them first.");
  ctx.audit({
    action: "delete",
    ...auditedAs("organization_member", id, username, organizationId),
    diff: { roles: { old: roles } },
  });
  ctx.publish(userHint(id));
}

/** Removes a locked user from the given organizations of which it is a member. */
export async function leaveOrganizations(
  ctx: Context,
  user: FoundUser,
  organizationIds: readonly string[],
): Promise<void> {
  for (const membership of user.memberships) {
    const { organizationId } = membership;
    if (!organizationIds.includes(organizationId)) continue;
    authorize(ctx.actor, "organization_member:delete", { organizationId, ...userTarget(user) });
    await endMembership(ctx, user, membership);
  }
}
