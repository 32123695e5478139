import { reach } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { raw, type Sql, sql } from "../kernel/sql.js";

/**
 * The condition that the caller may read the user whom a statement calls `u`. Callers who read the users of
 * organizations are members of these themselves, so one part suffices for every reach.
 */
export function isReadable({ actor }: Context, u: string): Sql {
  const { everywhere, own, organizations } = reach(actor, "user:read");
  const [organization, ...others] = organizations;
  const id = raw(`${u}.id`);
  if (everywhere) return sql`true`;
  if (!organization) return own ? sql`${id} = ${userIdOf(actor)}` : sql`false`;
  const isTheirs =
    others.length === 0
      ? sql`m.organization_id = ${organization}`
      : sql`m.organization_id = any(${organizations}::uuid[])`;
  return sql`exists(select from organization_members m where m.user_id = ${id} and ${isTheirs})`;
}
