import type { Context } from "./context.js";
import type { Range } from "./paging.js";
import { type Sql, sql } from "./sql.js";

/** A page of the list that an object has, such as the members of an organization. */
export interface NestedPage {
  ownerId: string;
  range: Range;
}

/** The id of the object that has the list, in the SQL of its rows. */
export const ownerId = sql`owner.id`;

/**
 * Reads pages of the lists of several objects: one statement for all with the same range. `rowsOf` selects a range of the
 * list of `ownerId`.
 */
export async function readNested<Row>(
  ctx: Context,
  wanted: readonly NestedPage[],
  rowsOf: (range: Range) => Sql,
): Promise<Row[][]> {
  const pages = new Map<NestedPage, Row[]>();
  const alike = Map.groupBy(wanted, ({ range }) => JSON.stringify(range));
  const reads = Array.from(alike.values(), async (same) => {
    const rows = await ctx.select<Row & { objectId: string }>(sql`
      select owner.id as "objectId", page.* from ${each(same.map((page) => page.ownerId))}
      cross join lateral (${rowsOf(same[0]!.range)}) page`);
    const found = Map.groupBy(rows, (row) => row.objectId);
    for (const page of same) pages.set(page, found.get(page.ownerId) ?? []);
  });
  await Promise.all(reads);
  return wanted.map((page) => pages.get(page)!);
}

/** Counts the rows of the lists of several objects. `counting` selects the number of those of `ownerId`. */
export async function countNested(ctx: Context, ownerIds: readonly string[], counting: Sql): Promise<number[]> {
  const rows = await ctx.select<{ ownerId: string; count: number }>(
    sql`select owner.id as "ownerId", (${counting}) as count from ${each(ownerIds)}`,
  );
  const counts = new Map(rows.map(({ ownerId: id, count }) => [id, count]));
  return ownerIds.map((id) => counts.get(id) ?? 0);
}

const each = (ids: readonly string[]): Sql => sql`unnest(${[...new Set(ids)]}::uuid[]) owner (id)`;
