import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { type Sql, sql } from "../kernel/sql.js";

/**
 * The condition that a user `u`, other than the caller, administers the templates of an organization: in the deployment
 * or in the organization.
 */
export const templateAdministrators = ({ actor }: Context, organizationId: string): Sql => sql`
  u.id is distinct from ${userIdOf(actor) ?? null}::uuid and u.id = any(array(
    select id from users where site_roles <> '{}' and 'template-admin' = any(site_roles)
    union all select user_id from organization_members where organization_id = ${organizationId} and roles <> '{}'
      and roles && '{organization-template-admin,organization-admin}'))`;
