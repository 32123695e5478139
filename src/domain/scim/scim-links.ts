import type { InferResult } from "kysely";
import { anyOf, rowsByKey } from "../kernel/queries.js";
import { may, selectPermitted } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import type { GroupRow } from "../groups/groups.js";
import { membershipsOf, type UserRow, userTarget } from "../users/users.js";

const userLinks = ({ db }: Context) =>
  db
    .selectFrom("scimUserLinks")
    .select(["userId", "source", "externalId", "userName", "attributes", "suspendedAt", "deprovisionedAt"])
    .orderBy("source");

/** The attributes of a user at an identity provider. */
export type ScimUserLink = InferResult<ReturnType<typeof userLinks>>[number];

const groupLinks = ({ db }: Context) =>
  db.selectFrom("scimGroupLinks").select(["groupId", "source", "externalId", "displayName"]).orderBy("source");

/** The attributes of a group at an identity provider. */
export type ScimGroupLink = InferResult<ReturnType<typeof groupLinks>>[number];

async function linksByUser(ctx: Context, ids: readonly string[]): Promise<ScimUserLink[][]> {
  return rowsByKey(await userLinks(ctx).where("userId", "=", anyOf(ids)).execute(), ids, ({ userId }) => userId);
}

/**
 * Returns the attributes of a user at all identity providers; none if the caller may not read the personal details of
 * the user.
 */
export async function scimLinksOfUser(ctx: Context, user: UserRow): Promise<ScimUserLink[]> {
  const { everywhere } = selectPermitted(ctx.actor, "user:read_personal");
  const mayRead =
    everywhere ||
    may(ctx.actor, "user:read_personal", userTarget({ ...user, memberships: await membershipsOf(ctx, user) }));
  return mayRead ? ctx.load(linksByUser, user.id) : [];
}

async function linksByGroup(ctx: Context, ids: readonly string[]): Promise<ScimGroupLink[][]> {
  return rowsByKey(await groupLinks(ctx).where("groupId", "=", anyOf(ids)).execute(), ids, ({ groupId }) => groupId);
}

/** Returns the attributes of a group, which the caller may read, at all identity providers. */
export const scimLinksOfGroup = (ctx: Context, { id }: Pick<GroupRow, "id">): Promise<ScimGroupLink[]> =>
  ctx.load(linksByGroup, id);
