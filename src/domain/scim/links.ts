import { rowsByKey } from "../kernel/batches.js";
import { may, reach } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";
import type { GroupRow } from "../groups/groups.js";
import { membershipsOf, type UserRow, userTarget } from "../users/users.js";
import type { Values } from "./evaluate.js";

/** What an identity provider knows about a user. */
export interface ScimUserLink {
  userId: string;
  source: string;
  externalId: string | null;
  userName: string | null;
  attributes: Values;
  deprovisionedAt: string | null;
}

/** What an identity provider knows about a group. */
export interface ScimGroupLink {
  groupId: string;
  source: string;
  externalId: string | null;
  displayName: string | null;
}

const linksOfUsers = lookup<ScimUserLink>(`
  select user_id as "userId", source, external_id as "externalId", user_name as "userName", attributes,
    deprovisioned_at as "deprovisionedAt"
  from scim_user_links where user_id = any($1::uuid[]) order by source`);

async function linksByUser(ctx: Context, ids: readonly string[]): Promise<ScimUserLink[][]> {
  return rowsByKey(await ctx.rows(linksOfUsers, ids), ids, ({ userId }) => userId);
}

/** What identity providers know about a user; none if the caller may not read the personal details of the user. */
export async function scimLinksOfUser(ctx: Context, user: UserRow): Promise<ScimUserLink[]> {
  const { everywhere } = reach(ctx.actor, "user:read_personal");
  const mayRead =
    everywhere ||
    may(ctx.actor, "user:read_personal", userTarget({ ...user, memberships: await membershipsOf(ctx, user) }));
  return mayRead ? ctx.load(linksByUser, user.id) : [];
}

const linksOfGroups = lookup<ScimGroupLink>(`
  select group_id as "groupId", source, external_id as "externalId", display_name as "displayName"
  from scim_group_links where group_id = any($1::uuid[]) order by source`);

async function linksByGroup(ctx: Context, ids: readonly string[]): Promise<ScimGroupLink[][]> {
  return rowsByKey(await ctx.rows(linksOfGroups, ids), ids, ({ groupId }) => groupId);
}

/** What identity providers know about a group that the caller may read. */
export const scimLinksOfGroup = (ctx: Context, { id }: Pick<GroupRow, "id">): Promise<ScimGroupLink[]> =>
  ctx.load(linksByGroup, id);
