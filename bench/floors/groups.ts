import { isLiving } from "./sessions.js";

/** A row of a group with its organization. */
export interface GroupRow {
  id: string;
  name: string;
  display_name: string;
  avatar_url: string;
  quota_allowance: number;
  source: string;
  organization_id: string;
  organization_name: string;
  organization_display_name: string;
  total_member_count: number;
}

/** The same in a list. */
export interface ListedGroupRow extends GroupRow {
  /** The number of members of `Everyone`, which has no stored members; null for other groups. */
  organization_member_count: number | null;
}

const groupColumns = `
  g.id, g.name, g.display_name, g.avatar_url, g.quota_allowance, g.source,
  o.id as organization_id, o.name as organization_name, o.display_name as organization_display_name,
  (select count(*)::int from group_members m join users u on u.id = m.user_id
    where m.group_id = g.id and u.deleted_at is null and not u.is_system) as total_member_count`;

/** The group `$1` with the valid session `$2` of an active user. */
export const selectGroupWithSession = `
  select ${groupColumns}, k.secret_hash
  from groups g join organizations o on o.id = g.organization_id,
    api_keys k join users s on s.id = k.user_id
  where g.id = $1 and k.id = $2 and ${isLiving}`;

/**
 * The groups of the organization `$1` with the session `$2`, `$3` of them at most. `offset 0` keeps Postgres from a hash
 * of all users for some members.
 */
export const selectGroupsWithSession = `
  select ${groupColumns}, k.secret_hash,
    case when g.id = o.id then (select count(*)::int from organization_members m, lateral (
        select from users u where u.id = m.user_id and u.deleted_at is null and not u.is_system offset 0) member
      where m.organization_id = o.id) end as organization_member_count
  from groups g join organizations o on o.id = g.organization_id,
    api_keys k join users s on s.id = k.user_id
  where g.organization_id = $1 and k.id = $2 and ${isLiving}
  order by o.name, g.name, g.id limit $3`;

/** The group as in the contract. */
export function groupBody(row: GroupRow) {
  return {
    avatar_url: row.avatar_url,
    display_name: row.display_name,
    id: row.id,
    name: row.name,
    organization_display_name: row.organization_display_name,
    organization_id: row.organization_id,
    organization_name: row.organization_name,
    quota_allowance: row.quota_allowance,
    source: row.source,
    total_member_count: row.total_member_count,
    members: [],
  };
}

export const graphqlGroup = (row: GroupRow) => ({
  id: row.id,
  name: row.name,
  displayName: row.display_name,
  avatarUrl: row.avatar_url,
  quotaAllowance: row.quota_allowance,
  source: row.source.toUpperCase(),
  totalMemberCount: row.total_member_count,
  organization: { id: row.organization_id, name: row.organization_name, displayName: row.organization_display_name },
});
