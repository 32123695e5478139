import { rowsByKey } from "../kernel/batches.js";
import type { Context } from "../kernel/context.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { jsonOf, type JsonRows, rowsOf } from "../kernel/json.js";
import {
  allNarrowings,
  countIn,
  countMatches,
  type Fixed,
  matchesIn,
  type Narrowing,
  type Order,
  rowsIn,
  type Search,
} from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, pageOf, type Range } from "../kernel/paging.js";
import { allOf, given, raw, type Sql, sql } from "../kernel/sql.js";
import { type FoundUser, type Membership, userColumns, type UserRow } from "./users.js";

/** The users among which a list selects, with an index of each column and the id. */
export interface Roster {
  /** Folded. */
  username: Sql;
  createdAt: Sql;
  id: Sql;
  /** `from … where …` with only the columns of the indexes. */
  index: Sql;
  /** `from … where …` with the user `u`. */
  from: Sql;
}

export const allUsers: Roster = {
  username: raw(foldedSql("u.username")),
  createdAt: raw("u.created_at"),
  id: raw("u.id"),
  index: sql`from users u where u.deleted_at is null and not u.is_system`,
  from: sql`from users u where u.deleted_at is null and not u.is_system`,
};

/** The roster of an organization, with the memberships `m`. Deleted users and system identities have none. */
export const membersOf = (organizationId: string | Sql): Roster => ({
  username: raw(`m.username collate "C"`),
  createdAt: raw("m.user_created_at"),
  id: raw("m.user_id"),
  index: sql`from organization_members m where m.organization_id = ${organizationId}`,
  // `offset 0` forces a nested loop, which reads no more members than a page needs.
  from: sql`from organization_members m cross join lateral (select * from users where id = m.user_id offset 0) u
    where m.organization_id = ${organizationId}`,
});

/** The values by which users are sorted. */
export interface Sorting<Node> {
  /** The name of the key in cursors. */
  name: string;
  /** The column of the roster. */
  column: Sql;
  /** The value of the user `place`. */
  ofPlace: Sql;
  ofNode: (node: Node) => string;
}

export const byUsername = ({ username: column }: Roster): Sorting<Pick<UserRow, "username">> => ({
  name: "username",
  column,
  ofPlace: raw(foldedSql("place.username")),
  ofNode: ({ username }) => folded(username),
});

export const byCreation = ({ createdAt: column }: Roster): Sorting<Pick<UserRow, "createdAt">> => ({
  name: "createdAt",
  column,
  ofPlace: sql`place.created_at`,
  ofNode: ({ createdAt }) => createdAt,
});

export interface Listing<Node> {
  /** What `read` needs of each user. */
  columns: Sql;
  roster: Roster;
  by: Sorting<Node>;
  isDescending: boolean;
  /** The column by which a filter selects from all users. */
  fixed?: readonly Fixed[];
  /** Selects from the roster; absent, all of it. */
  condition?: Sql | undefined;
  /** Conditions that may match few users. */
  narrowings?: readonly Narrowing[];
  /** Whether a page may begin at the user `place`, named by id: its position would disclose a value that is unreadable. */
  isPlace: Sql;
}

/** Reads a page of users. `read` runs its statement. `counted` is the same list in the order in which it is counted. */
export async function pageOfUsers<Node extends Pick<UserRow, "id">>(
  ctx: Context,
  range: Range,
  listing: Listing<Node>,
  read: (rows: Sql) => Promise<Node[]>,
  counted: Listing<never> = listing,
): Promise<Page<Node>> {
  const { columns, by } = listing;
  const { order, from, index, found } = partsOf(listing);
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${columns} ${from(beyond)}`, index);
  return pageOf(range, await read(rows), {
    cursor: (node) => cursor(node.id, { [by.name]: by.ofNode(node) }),
    count: () => ctx.count(countOf(counted)),
  });
}

/** The columns of the rows that `readAccounts` reads. */
export const wholeAccounts = sql`u.*`;

const membershipColumns = `m.user_id as "userId", m.organization_id as "organizationId", m.roles`;

/** Reads users with their memberships, as JSON: rows of their own take the server three times as long. */
export async function readAccounts(ctx: Context, users: Sql): Promise<FoundUser[]> {
  const [read] = await ctx.select<Record<"accounts" | "memberships", JsonRows>>(sql`
    with page as materialized (${users})
    select (select ${raw(jsonOf(userColumns))} from page u) as accounts, (
      select ${raw(jsonOf(membershipColumns))} from (
        select * from organization_members where user_id = any(array(select id from page))
        order by created_at, organization_id) m
    ) as memberships`);
  const accounts = rowsOf<UserRow>(read!.accounts);
  const memberships = rowsByKey(
    rowsOf<Membership & { userId: string }>(read!.memberships),
    accounts.map(({ id }) => id),
    ({ userId }) => userId,
  );
  return accounts.map((account, index) => Object.assign(account, { memberships: memberships[index]! }));
}

function countOf(listing: Listing<never>): Sql {
  const { order, index, found } = partsOf(listing);
  return found ? countMatches(order, found) : countIn(order, (more) => sql`select ${index(more)}`);
}

/** The parts of the statements of a list. */
function partsOf({
  columns,
  roster,
  by,
  isDescending,
  fixed = [],
  condition,
  narrowings = [],
  isPlace,
}: Listing<never>) {
  const ofPlace = (id: string) => sql`(select ${by.ofPlace} from users place where place.id = ${id} and ${isPlace})`;
  const order: Order = { fixed, keys: [{ column: by.column, ofPlace }], id: roster.id, isDescending };
  const from = (more?: Sql) => sql`${roster.from} and ${allOf(condition, more)}`;
  const index = (more?: Sql) => (condition ? from(more) : sql`${roster.index} and ${allOf(more)}`);
  const found = given(allNarrowings(narrowings), (all): Search => ({ columns, from, ...all }));
  return { order, from, index, found };
}
