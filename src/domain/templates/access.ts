import { memberships } from "../groups/memberships.js";

/** `aclOfCaller` for statements that are text, of a user such as `$1`. */
export const aclOf = (user: string): string => `(
  select min(e.role) from template_acl_entries e where e.template_id = t.id and (e.user_id = ${user}::uuid
    or e.group_id = any(array(select group_id from ${memberships} m where m.user_id = ${user}::uuid))))`;

export type { AclRole } from "./templates.js";
