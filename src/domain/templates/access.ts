import type { Context } from "../kernel/context.js";
import { reach } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { raw, type Sql, sql } from "../kernel/sql.js";
import { memberships } from "../groups/memberships.js";

/** The role of a user in the access list of a template. */
export type AclRole = "use" | "admin";

/** A condition on the entries `e` of access lists: those of a user, and of the groups of the user, Everyone included. */
const concerns = (user: string) => `(e.user_id = ${user}::uuid
  or e.group_id = any(array(select group_id from ${memberships} m where m.user_id = ${user}::uuid)))`;

/**
 * SQL for the role of a user, such as `$1`, in the access list of the template `t`; null without one. `admin` comes
 * first in the alphabet.
 */
export const aclOf = (user: string): string =>
  `(select min(e.role) from template_acl_entries e where e.template_id = t.id and ${concerns(user)})`;

/** The condition that the caller may read the template `t`; absent if the caller may read all templates. */
export function isReadableTemplate({ actor }: Context): Sql | undefined {
  const { everywhere, organizations, sharedForUse } = reach(actor, "template:read");
  if (everywhere) return undefined;
  const isTheirs = sql`t.organization_id = any(${organizations}::uuid[])`;
  if (!sharedForUse) return isTheirs;
  const user = userIdOf(actor) ?? null;
  return sql`(${isTheirs} or t.id in (
    select e.template_id from template_acl_entries e where e.user_id = ${user}
    union all select e.template_id from template_acl_entries e
      where e.group_id = any(array(select group_id from ${raw(memberships)} m where m.user_id = ${user}))))`;
}
