import type { Context } from "../kernel/context.js";
import { plannedEachTime } from "../kernel/database.js";
import { DomainError, Problems } from "../kernel/errors.js";
import { findOrganization } from "../organizations/organizations.js";
import type { Page } from "../kernel/page.js";
import { cursor, invalidQuery, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { isUuid } from "../kernel/text.js";
import { findUser } from "../users/users.js";
import { countGroups, readWithMembers, selectFromGroups, selectGroupsWithMembers } from "./groups.js";
import type { GroupRow, GroupSource } from "./row.js";
import { isSeen, membersAtOnce, type MembersQuery, memberships } from "./members.js";

/** Which groups are meant. What is absent does not narrow. */
export interface GroupFilter {
  /** Id, name or `default`. */
  organization?: string | null;
  /** Id, username or `me`. */
  hasMember?: string | null;
  ids?: string[] | null;
  source?: GroupSource | null;
  /** Part of the name or display name, in any letter case. */
  search?: string | null;
}

export interface GroupsQuery extends PageArguments {
  /** All groups instead of a page. */
  complete?: boolean | null;
  filter?: GroupFilter | null;
}

const mostIds = 200;

/** Groups of a complete list, at most. */
const mostGroups = 1_000_000;

const matching = `
  ($8::uuid is null or g.organization_id = $8)
  and ($9::uuid is null or exists (
    select from ${memberships} m where m.group_id = g.id and m.user_id = $9 and ${isSeen}))
  and ($10::uuid[] is null or g.id = any($10))
  and ($11::text is null or g.source = $11)
  and ($12::text is null or position(lower($12) in lower(g.name)) > 0 or position(lower($12) in lower(g.display_name)) > 0)`;

/** What orders the group `$13`, if the caller may read it: else it would tell where its name is. */
const ofPlace = (column: string): string => `(${selectFromGroups(column, "g.id = $13")})`;

/** Finds a page and only then reads it: else Postgres would read all groups with what hangs on them, and then sort. */
function groupsInOrder(beyond: "<" | ">", order: "asc" | "desc") {
  const inOrder = `order by o.name ${order}, g.name ${order}, g.id ${order}`;
  const page = selectFromGroups(
    "g.id",
    `${matching}
    and ($13::uuid is null or (o.name, g.name, g.id) ${beyond} (
      coalesce($14, ${ofPlace("o.name")}), coalesce($15, ${ofPlace("g.name")}), $13))
    ${inOrder} limit $16 offset $17`,
  );
  return plannedEachTime<GroupRow>(`${selectGroupsWithMembers(membersAtOnce.listed, `g.id in (${page})`)} ${inOrder}`);
}

const groupsForward = groupsInOrder(">", "asc");
const groupsBackward = groupsInOrder("<", "desc");
// `$6` is typed where members are read; here nobody asks for them.
const groupCount = plannedEachTime<{ count: number }>(countGroups(`${matching} and $6::int is null`));

/** The groups that the caller may read, by name of their organization, name and id. */
export function listGroups(ctx: Context, query: GroupsQuery, members: MembersQuery[] = []): Promise<Page<GroupRow>> {
  return list(ctx, query, members);
}

/** The same of one organization, which the caller must be able to read. */
export async function listOrganizationGroups(
  ctx: Context,
  organizationRef: string,
  query: GroupsQuery,
  members: MembersQuery[] = [],
): Promise<Page<GroupRow>> {
  const { id } = await findOrganization(ctx, organizationRef);
  return list(ctx, { ...query, filter: { ...query.filter, organization: id } }, members);
}

async function list(
  ctx: Context,
  { filter, complete, ...stretch }: GroupsQuery,
  members: MembersQuery[],
): Promise<Page<GroupRow>> {
  const problems = new Problems();
  const organization = await idOf(ctx, filter?.organization, findOrganization, "filter.organization", problems);
  const member = await idOf(ctx, filter?.hasMember, findUser, "filter.hasMember", problems);
  const ids = filter?.ids ?? null;
  problems.add("filter.ids", ids && ids.length > mostIds ? `Must be at most ${mostIds} ids.` : undefined);
  const range = complete
    ? { limit: mostGroups, offset: 0, backward: false }
    : readRange(stretch, ["text", "text"], problems);
  problems.throwIfAny(invalidQuery);

  const wanted = [organization, member, ids, filter?.source ?? null, filter?.search ?? null];
  const { place, limit, offset, backward } = range;
  const [organizationName = null, name = null] = place?.keys ?? [];
  const groups = await ctx.rows(
    backward ? groupsBackward : groupsForward,
    ...readWithMembers(ctx, members),
    ...wanted,
    place?.id ?? null,
    organizationName,
    name,
    limit + 1,
    offset,
  );
  return pageOf(range, groups, {
    cursor: (group) => cursor(group.id, group.organization.name, group.name),
    count: async () => (await ctx.row(groupCount, ...readWithMembers(ctx), ...wanted))!.count,
  });
}

/** An id stands for itself, known or not; a name has to be one that the caller can see. */
async function idOf(
  ctx: Context,
  ref: string | null | undefined,
  find: (ctx: Context, ref: string) => Promise<{ id: string }>,
  field: string,
  problems: Problems,
): Promise<string | null> {
  if (!ref) return null;
  if (isUuid(ref)) return ref;
  try {
    return (await find(ctx, ref)).id;
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== "NOT_FOUND") throw error;
    problems.add(field, "Is neither an id nor a name that you can see.");
    return null;
  }
}
