import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { reach } from "../authorization/authorization.js";
import { Problems } from "../kernel/errors.js";
import { rowsIn } from "../kernel/list.js";
import { countNested, type NestedPage, ownerId, readNested } from "../kernel/nested.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, anyOf, raw, type Sql, sql } from "../kernel/sql.js";
import type { UserRow } from "../users/users.js";
import { groupColumns, groupsWithOrganization, type GroupRow, isIn, isReadableGroup } from "./groups.js";
import { byName } from "./list.js";
import { membersAtOnce } from "./members.js";

/**
 * Lists the groups of a user by name of their organization, name and id: those that the caller may read, with the
 * membership. Takes one statement for all users of a request.
 */
export async function groupsOf(ctx: Context, { id }: UserRow, page: PageArguments): Promise<Page<GroupRow>> {
  const problems = new Problems();
  const range = readRange(page, { organization: "text", name: "text" }, problems);
  problems.throwIfAny();
  return pageOf(range, await ctx.load(readPages, { ownerId: id, range }), {
    cursor: ({ id: group, organizationName, name }) => cursor(group, { organization: organizationName, name }),
    count: () => ctx.load(countGroups, id),
  });
}

const readPages = (ctx: Context, wanted: readonly NestedPage[]): Promise<GroupRow[][]> =>
  readNested(ctx, wanted, (range) => rowsIn(range, byName(ctx), (beyond) => select(ctx, beyond)));

const select = (ctx: Context, beyond?: Sql): Sql => sql`
  select ${raw(groupColumns)}, ${raw(String(membersAtOnce.listed))} as "membersAtOnce"
  from ${raw(groupsWithOrganization)} where ${allOf(isReadableMembership(ctx), beyond)}`;

const countGroups = (ctx: Context, userIds: readonly string[]): Promise<number[]> =>
  countNested(ctx, userIds, sql`select count(*) from groups g where ${isReadableMembership(ctx)}`);

/** The condition that the user is in the group `g`, and that the caller may read the group and the membership. */
function isReadableMembership(ctx: Context): Sql {
  const { everywhere, organizations } = reach(ctx.actor, "group_member:read");
  const isOwn = sql`${ownerId} = ${userIdOf(ctx.actor) ?? null}`;
  const isReadable = everywhere ? undefined : anyOf(isOwn, sql`g.organization_id = any(${organizations}::uuid[])`);
  return allOf(isIn(ownerId), isReadableGroup(ctx), isReadable);
}
