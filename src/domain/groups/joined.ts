import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { rowsIn } from "../kernel/list.js";
import { countNested, type NestedPage, ownerId, readNested } from "../kernel/nested.js";
import type { Page } from "../kernel/page.js";
import { type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, raw, type Sql, sql } from "../kernel/sql.js";
import type { UserRow } from "../users/users.js";
import { groupsWithOrganization, type GroupRow, isIn, isReadableGroup, isReadableMembership } from "./groups.js";
import { byName, listedColumns, nameCursor, nameKeys } from "./list.js";

/**
 * Lists the groups of a user by name of their organization, name and id: those that the caller may read, with the
 * membership. Takes one statement for all users of a request.
 */
export async function groupsOf(ctx: Context, { id }: UserRow, page: PageArguments): Promise<Page<GroupRow>> {
  const problems = new Problems();
  const range = readRange(page, nameKeys, problems);
  problems.throwIfAny();
  return pageOf(range, await ctx.load(readPages, { ownerId: id, range }), {
    cursor: nameCursor,
    count: () => ctx.load(countGroups, id),
  });
}

const readPages = (ctx: Context, wanted: readonly NestedPage[]): Promise<GroupRow[][]> =>
  readNested(ctx, wanted, (range) => rowsIn(range, byName(ctx), (beyond) => select(ctx, beyond)));

const select = (ctx: Context, beyond?: Sql): Sql => sql`
  select ${listedColumns} from ${raw(groupsWithOrganization)} where ${allOf(isReadablyIn(ctx), beyond)}`;

const countGroups = (ctx: Context, userIds: readonly string[]): Promise<number[]> =>
  countNested(ctx, userIds, sql`select count(*) from groups g where ${isReadablyIn(ctx)}`);

/** The condition that the user is in the group `g`, and that the caller may read the group and the membership. */
const isReadablyIn = (ctx: Context): Sql =>
  allOf(isIn(ownerId), isReadableGroup(ctx), isReadableMembership(ctx, ownerId));
