import { accessLists, type AclChanges } from "../groups/access-lists.js";
import { groupColumns, type GroupRow, groupsWithOrganization } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { raw, sql } from "../kernel/sql.js";
import { requireFeature } from "../entitlements/requirements.js";
import { foundColumns, type FoundUser } from "../users/users.js";
import type { AclRole } from "./access.js";
import { findTemplateFor, lockTemplate, ofTemplate } from "./templates.js";

/** The role of an entry. */
export const TemplateRole = { USE: "use", ADMIN: "admin" } as const satisfies Record<string, AclRole>;

export interface UserEntry {
  user: FoundUser;
  role: AclRole;
}

export interface GroupEntry {
  group: GroupRow;
  role: AclRole;
}

/** The access list of a template: users by username, and groups by name. */
export interface TemplateAcl {
  users: UserEntry[];
  groups: GroupEntry[];
}

const users = statement<FoundUser & { role: AclRole }>(`
  select ${foundColumns}, e.role from template_acl_entries e join users u on u.id = e.user_id
  where e.template_id = $1 and u.deleted_at is null order by lower(u.username), u.id`);

/** Finds the access list of a template that the caller may update. */
export async function findTemplateAcl(ctx: Context, templateId: string): Promise<TemplateAcl> {
  const { id } = await findTemplateFor(ctx, templateId, "template:update");
  return readTemplateAcl(ctx, id);
}

/** Reads an access list without a check: a change may have taken the permission from the caller. */
export async function readTemplateAcl(ctx: Context, id: string): Promise<TemplateAcl> {
  const [userRows, groupRows] = await Promise.all([
    ctx.rows(users, id),
    ctx.select<GroupRow & { role: AclRole }>(sql`
      select ${raw(groupColumns)}, 1000 as "membersAtOnce", e.role from template_acl_entries e join ${raw(groupsWithOrganization)} on g.id = e.group_id
      where e.template_id = ${id} order by g.name, g.id`),
  ]);
  return {
    users: userRows.map(({ role, ...user }) => ({ user, role })),
    groups: groupRows.map(({ role, ...group }) => ({ group, role })),
  };
}

export interface UpdateTemplateAcl extends AclChanges {
  templateId: string;
}

const changeEntries = accessLists("template_acl_entries", "template_id");

/** Sets and removes entries of the access list of a template; others stay. Returns the id of the template. */
export async function updateTemplateAcl(ctx: Context, input: UpdateTemplateAcl): Promise<string> {
  const template = await lockTemplate(ctx, input.templateId, "template:update");
  requireFeature(ctx, "template_rbac");
  const diff = await changeEntries(ctx, template, input);
  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...ofTemplate(template), diff });
  return template.id;
}
