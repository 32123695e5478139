import type { Context } from "../kernel/context.js";
import { may } from "../authorization/authorization.js";
import { type Statement, statement } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { jsonOf, timeText } from "../kernel/json.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { userColumns } from "../users/users.js";
import { isReadable, readableUsers } from "../users/readable.js";
import type { GroupMemberRow, GroupRow } from "./row.js";
import { matching, memberSearch } from "./member-search.js";

/** Which members are meant. What is absent does not narrow. */
export interface GroupMemberFilter {
  /** Words and `key:value` terms. */
  search?: string | null;
}

/** A stretch of the members of a group. */
export interface MembersQuery extends PageArguments {
  /** All members, as many as are shown at once, instead of a page. */
  complete?: boolean | null;
  filter?: GroupMemberFilter | null;
}

/** Members that one group shows at once, at most: where it stands alone, and in lists. */
export const membersAtOnce = { alone: 10_000, listed: 1000 } as const;

/** Whether it is the group `Everyone`, of all members of an organization. */
export const isEveryone = ({ id, organizationId }: Pick<GroupRow, "id" | "organizationId">): boolean =>
  id === organizationId;

/** Who is in which group. Everyone, whose id is its organization's, has no rows of its own. */
export const memberships = `(
  select group_id, user_id from group_members
  union all select organization_id, user_id from organization_members)`;

/** Whether the user `who` is in the group `g`. */
export const isIn = (who: string): string => `(
  exists (select from group_members m where m.group_id = g.id and m.user_id = ${who})
  or exists (select from organization_members m where m.organization_id = g.id and m.user_id = ${who}))`;

/** Where members are, and when they were added. */
interface Source {
  /** The members `m` of a group with their users `u`. */
  of: (group: string) => string;
  addedAt: string;
}

const everyone: Source = {
  of: (group) => `organization_members m join users u on u.id = m.user_id where m.organization_id = ${group}`,
  addedAt: "null::timestamptz",
};

// Users are looked up one by one (`offset 0`): one large group, and Postgres would read all users for every small one.
const others: Source = {
  of: (group) => `group_members m
    cross join lateral (select * from users where id = m.user_id offset 0) u where m.group_id = ${group}`,
  addedAt: "m.created_at",
};

/**
 * A value read from where the members of a group are; `condition` says whether it is Everyone. Two subqueries, so that
 * Postgres does not plan for every group as if it were as large as Everyone.
 */
const fromEither = (condition: string, read: (source: Source) => string): string =>
  `case when ${condition} then (${read(everyone)}) else (${read(others)}) end`;

const fromMembers = (read: (source: Source) => string): string => fromEither("g.id = g.organization_id", read);

/**
 * How many members the group `g` has. Users need no look: deleted ones have left every organization, and the system's
 * own identities join none.
 */
export const memberCount = `case when g.id = g.organization_id
  then (select count(*) from organization_members m where m.organization_id = g.id)
  else (select count(*) from group_members m where m.group_id = g.id) end`;

/** Whether the caller `$1` sees the member `m` of the group `g`: all of them where `$5` or `$7` says so, else itself. */
export const isSeen = `($5 or g.organization_id = any($7::uuid[]) or m.user_id = $1)`;

/** Members that `select` gives, spelled out only when they are few: Postgres would do it before it sorts and cuts. */
const spelled = (select: string, more = ""): string =>
  `select ${jsonOf(userColumns)} as "user", ${timeText("u.added_at")} as "addedAt"${more} from (${select}) u`;

/** The columns of members that `spelled` needs. */
const memberColumns = ({ addedAt }: Source): string => `u.*, ${addedAt} as added_at`;

/** The first `$6` members of the group `g` that the caller sees, none for null: read in one snapshot with the group. */
export const firstMembers = (atOnce: number): string => `
  case when $6::int is not null then ${fromMembers(
    (source) => `
    select coalesce(json_agg(r), '[]') from (${spelled(`
      select ${memberColumns(source)} from ${source.of("g.id")} and ${isSeen}
      order by ${foldedSql("u.username")}, u.id limit least($6, ${atOnce + 1})`)}) r`,
  )} end`;

const isFromTheStart = ({ complete, first, after, last, before, offset, filter }: MembersQuery) =>
  !filter?.search && (complete || ((first ?? 0) >= 0 && !after && last == null && !before && !offset));

/** How many members to read together with their group, so that all of `queries` that begin at the start are answered. */
export function membersToReadAlong(queries: readonly MembersQuery[]): number | null {
  const sizes = queries.filter(isFromTheStart).map(({ complete, first }) => (complete ? Infinity : first || 100));
  return sizes.length > 0 ? Math.min(Math.max(...sizes), membersAtOnce.alone) + 1 : null;
}

interface Asked {
  group: GroupRow;
  range: Range;
  search: unknown[];
}

/** The members of a group whom the caller sees, by lower-cased username: all of them, or the caller alone. */
export async function membersOf(ctx: Context, group: GroupRow, query: MembersQuery): Promise<Page<GroupMemberRow>> {
  const asked = ask(group, query);
  const kept = group.keptPages?.get(key(asked));
  if (kept) return kept;
  if (group.firstMembers && isFromTheStart(query)) return page(ctx, asked, group.firstMembers);
  return page(ctx, asked, await ctx.load(readMembers, asked));
}

/** Reads pages of the members while they are still there, for an answer that is made when they are gone. */
export async function keepPages(ctx: Context, group: GroupRow, queries: readonly MembersQuery[]): Promise<GroupRow> {
  const pages = queries.map(async (query) => [key(ask(group, query)), await membersOf(ctx, group, query)] as const);
  return { ...group, keptPages: new Map(await Promise.all(pages)) };
}

function ask(group: GroupRow, query: MembersQuery): Asked {
  const problems = new Problems();
  const range = query.complete
    ? { limit: group.membersAtOnce, offset: 0, backward: false }
    : readRange(query, ["text"], problems);
  problems.throwIfAny(invalidQuery);
  return { group, range, search: memberSearch(query.filter?.search ?? undefined) };
}

/** Equal for the same stretch of the same selection, whatever the group. */
const key = ({ range, search }: Asked) => JSON.stringify([range, search]);

function page(ctx: Context, asked: Asked, rows: readonly GroupMemberRow[]): Page<GroupMemberRow> {
  for (const row of rows) row.account = row.user;
  return pageOf(asked.range, rows, {
    cursor: ({ user }: GroupMemberRow) => cursor(user.id, folded(user.username)),
    count: () => ctx.load(countMembers, asked),
  });
}

const seesAll = ({ actor }: Context, group: GroupRow) =>
  may(actor, "group_member:read", { organizationId: group.organizationId, ownerId: null });

/** Groups `$2` that are asked about in turn, `$3`: which is Everyone, `$4`: of which the caller sees all members. */
const groupsInTurn = `
  unnest($2::uuid[], $3::boolean[], $4::boolean[]) with ordinality as wanted (group_id, is_everyone, is_full, turn)`;

/** Members whom the caller `$1` sees and who match from `$5` on. */
const seenMembers = ({ of }: Source) =>
  `${of("wanted.group_id")} and (wanted.is_full or m.user_id = $1) and ${matching(5)}`;

/** Whether a user named by its id marks a place: a member whom the caller sees, or any other whom it may read. */
const isPlace = `(${isReadable("place", 19)} or exists(
  select from ${memberships} m
  where m.group_id = wanted.group_id and m.user_id = place.id and (wanted.is_full or m.user_id = $1)))`;

type FoundMember = GroupMemberRow & { groupId: string };

function membersInOrder(beyond: "<" | ">", order: "asc" | "desc") {
  const stretch = (source: Source) => `
    select ${memberColumns(source)} from ${seenMembers(source)}
      and wanted.is_everyone = ${source === everyone}
      and ($15::uuid is null or (${foldedSql("u.username")}, u.id) ${beyond}
        (coalesce($16, (
          select ${foldedSql("place.username")} from users place where place.id = $15 and ${isPlace})), $15))
    order by ${foldedSql("u.username")} ${order}, u.id ${order} limit $17 offset $18`;
  return statement<FoundMember>(`
    select wanted.group_id as "groupId", r."user", r."addedAt"
    from ${groupsInTurn} cross join lateral (${spelled(
      `(${stretch(everyone)}) union all (${stretch(others)})`,
      `, u.username, u.id`,
    )}) r
    order by wanted.turn, ${foldedSql("r.username")} ${order}, r.id ${order}`);
}

const membersForward = membersInOrder(">", "asc");
const membersBackward = membersInOrder("<", "desc");

/** One statement for all groups of which the same is asked. */
function readMembers(ctx: Context, asked: readonly Asked[]): Promise<GroupMemberRow[][]> {
  return together(asked, async (same, { range, search }) => {
    const { place, limit, offset, backward } = range;
    const wanted: Statement<FoundMember> = backward ? membersBackward : membersForward;
    const stretch = [place?.id ?? null, place?.keys?.[0] ?? null, limit + 1, offset, ...readableUsers(ctx)];
    const rows = await ctx.rows(wanted, ...seenBy(ctx, same), ...search, ...stretch);
    const members = Map.groupBy(rows, ({ groupId }) => groupId);
    return ({ id }) => members.get(id) ?? [];
  });
}

const memberCounts = statement<{ groupId: string; count: number }>(`
  select wanted.group_id as "groupId",
    ${fromEither("wanted.is_everyone", (source) => `select count(*) from ${seenMembers(source)}`)} as count
  from ${groupsInTurn}`);

function countMembers(ctx: Context, asked: readonly Asked[]): Promise<number[]> {
  return together(asked, async (same, { search }) => {
    if (search.every((value) => value === null)) return knownCount(ctx);
    const rows = await ctx.rows(memberCounts, ...seenBy(ctx, same), ...search);
    const counts = new Map(rows.map(({ groupId, count }) => [groupId, count]));
    return ({ id }) => counts.get(id)!;
  });
}

const knownCount = (ctx: Context) => (group: GroupRow) =>
  seesAll(ctx, group) ? group.totalMemberCount : Number(group.isMember);

const seenBy = (ctx: Context, groups: readonly GroupRow[]): unknown[] => [
  ctx.actor.userId ?? null,
  groups.map(({ id }) => id),
  groups.map(isEveryone),
  groups.map((group) => seesAll(ctx, group)),
];

/** Answers what is asked of many groups by as many reads as there are different questions. */
async function together<Answer>(
  asked: readonly Asked[],
  read: (groups: GroupRow[], question: Asked) => Promise<(group: GroupRow) => Answer>,
): Promise<Answer[]> {
  const questions = Map.groupBy(asked, key);
  const answers = new Map<string, (group: GroupRow) => Answer>();
  const reads = [...questions].map(async ([question, same]) => {
    answers.set(
      question,
      await read(
        same.map(({ group }) => group),
        same[0]!,
      ),
    );
  });
  await Promise.all(reads);
  return asked.map((each) => answers.get(key(each))!(each.group));
}
