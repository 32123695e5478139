import { type Account, authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { userHint } from "../tokens/credentials.js";
import { identified } from "./members.js";
import { maxOrganizationsPerUser, tooManyOrganizations } from "./organizations.js";

// Locks the users first, as every transaction that changes memberships.
const joinMany = statement<Account & { id: string; username: string; joined: boolean }>(`
  with users as materialized (
    select u.id, u.username, u.site_roles from users u where u.id = any($2::uuid[]) and u.deleted_at is null and not u.is_system
    order by u.id for no key update
  ), organization as (
    select id from organizations where id = $1 and deleted_at is null for share
  ), joined as (
    insert into organization_members (organization_id, user_id, created_at)
    select organization.id, users.id, now() from organization, users
    where (select count(*) from organization_members m where m.user_id = users.id) < $3
    on conflict do nothing
    returning user_id
  )
  select users.id, users.id as "ownerId", users.username, users.site_roles as "siteRoles", (
      select coalesce(json_agg(json_build_object('organizationId', m.organization_id, 'roles', m.roles)), '[]')
      from organization_members m where m.user_id = users.id
    ) as memberships, joined.user_id is not null as joined
  from users left join joined on joined.user_id = users.id`);

/**
 * Adds users to an organization, without roles. Members stay as they are. Returns the ids of the given users that
 * exist. Throws CONFLICT for a user with too many memberships.
 */
export async function joinOrganization(
  ctx: Context,
  organizationId: string,
  users: readonly string[],
): Promise<string[]> {
  const found = await ctx.rows(joinMany, organizationId, users, maxOrganizationsPerUser);
  for (const { joined, id, username, ...account } of found) {
    const isMember = account.memberships.some((each) => each.organizationId === organizationId);
    if (!joined && !isMember) throw tooManyOrganizations();
    if (!joined) continue;
    authorize(ctx.actor, "organization_member:create", { organizationId, ...account });
    ctx.audit({ action: "create", ...identified({ id, username, organizationId }) });
    ctx.publish(userHint(id));
  }
  return found.map(({ id }) => id);
}
