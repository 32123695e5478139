import type { Context } from "../kernel/context.js";
import type { Role } from "../authorization/roles.js";
import { plannedEachTime, type Statement } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, type Range, readRange } from "../kernel/paging.js";
import { proseProblem } from "../kernel/text.js";
import { type LoginType, userColumns, type UserRow, type UserStatus } from "./users.js";
import { isReadable, readableUsers } from "./readable.js";

/** Which users are wanted. What is absent does not narrow. */
export interface UserFilter {
  /** A part of the username, the e-mail or the real name, in any letter case. */
  search?: string | null;
  status?: UserStatus | null;
  /** Held in the deployment or in some organisation. */
  role?: Role | null;
  loginType?: LoginType | null;
  /** The organisation they belong to, by id or name. */
  organization?: string | null;
  createdAfter?: string | null;
  createdBefore?: string | null;
  lastSeenAfter?: string | null;
  lastSeenBefore?: string | null;
  serviceAccount?: boolean | null;
}

/** Longest search text, in characters. */
const longestSearch = 254;

export const searchProblem = (text: string | null | undefined) =>
  text == null ? undefined : proseProblem(text, longestSearch);

/**
 * The statements that read a list of `users u` by name, from its start and from its end. `list` ends in conditions and
 * takes `parameters`; those of `stretch` follow. A user named by its id alone is a place if the caller may read it or
 * `isListed` holds for `place`: the order of names must not tell the names of others.
 */
export function inOrderOfNames<Row>(list: string, parameters: number, isListed = "false") {
  const [name, id, limit, offset] = [1, 2, 3, 4].map((n) => `$${parameters + n}`);
  const isPlace = `(${isListed} or ${isReadable("place", parameters + 5)})`;
  const place = `(coalesce(${name}, (
    select ${foldedSql("place.username")} from users place where place.id = ${id}::uuid and ${isPlace})), ${id}::uuid)`;
  const read = (beyond: "<" | ">", direction: "asc" | "desc") =>
    plannedEachTime<Row>(`${list}
      and (${id}::uuid is null or (${foldedSql("u.username")}, u.id) ${beyond} ${place})
      order by ${foldedSql("u.username")} ${direction}, u.id ${direction} limit ${limit} offset ${offset}`);
  return { forward: read(">", "asc"), backward: read("<", "desc") };
}

const stretch = (ctx: Context, { place, limit, offset }: Range) => [
  place?.keys?.[0],
  place?.id,
  limit + 1,
  offset,
  ...readableUsers(ctx),
];

/** Reads a page of users by name, each as the caller may see it. Counts only when asked. */
export async function pageByName<Row, Node extends Pick<UserRow, "id" | "username">>(
  ctx: Context,
  {
    forward,
    backward,
    count,
  }: Record<"forward" | "backward", Statement<Row>> & { count: Statement<{ count: number }> },
  values: unknown[],
  range: Range,
  asSeen: (row: Row) => Node,
): Promise<Page<Node>> {
  const rows = await ctx.rows(range.backward ? backward : forward, ...values, ...stretch(ctx, range));
  return pageOf(range, rows.map(asSeen), {
    cursor: ({ id, username }) => cursor(id, folded(username)),
    count: async () => (await ctx.row(count, ...values))?.count ?? 0,
  });
}

const matching = `from users u
  where u.deleted_at is null and not u.is_system
    and ${isReadable("u", 1)}
    and ($4::text is null or strpos(${foldedSql("u.username")}, ${foldedSql("$4")}) > 0 or strpos(${foldedSql("u.email")}, ${foldedSql("$4")}) > 0
      or strpos(lower(u.name), lower($4)) > 0)
    and ($5::text is null or u.status = $5)
    and ($6::text is null or $6 = 'member' or $6 = any(u.site_roles) or exists(
      select from organization_members m
      where m.user_id = u.id and ($6 = 'organization-member' or $6 = any(m.roles))
        and ($8::uuid is null or m.organization_id = $8)))
    and ($7::text is null or u.login_type = $7)
    and ($8::uuid is null or exists(
      select from organization_members m where m.user_id = u.id and m.organization_id = $8))
    and ($9::timestamptz is null or u.created_at >= $9)
    and ($10::timestamptz is null or u.created_at <= $10)
    and ($11::timestamptz is null or u.last_seen_at >= $11)
    and ($12::timestamptz is null or u.last_seen_at <= $12)
    and ($13::boolean is null or u.is_service_account = $13)`;

const users = {
  ...inOrderOfNames<UserRow>(`select ${userColumns} ${matching}`, 13),
  count: plannedEachTime<{ count: number }>(`select count(*) ${matching}`),
};

/** The users whom the caller may read, by username. Deleted ones and identities of the system are not among them. */
export async function listUsers(
  ctx: Context,
  filter: UserFilter | null | undefined,
  page: PageArguments,
): Promise<Page<UserRow>> {
  const problems = new Problems();
  problems.add("filter.search", searchProblem(filter?.search));
  const range = readRange(page, ["text"], problems);
  problems.throwIfAny();
  const organization = filter?.organization && (await findOrganization(ctx, filter.organization)).id;
  const { search, status, role, loginType, serviceAccount } = filter ?? {};
  const { createdAfter, createdBefore, lastSeenAfter, lastSeenBefore } = filter ?? {};
  const times = [createdAfter, createdBefore, lastSeenAfter, lastSeenBefore];
  return pageByName(
    ctx,
    users,
    [...readableUsers(ctx), search, status, role, loginType, organization, ...times, serviceAccount],
    range,
    (user) => user,
  );
}
