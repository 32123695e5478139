import type { Context } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { lookup } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { mostCounted, type Order, rowsIn } from "../kernel/list.js";
import { type NestedPage, ownerId, readNested } from "../kernel/nested.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, raw, sql } from "../kernel/sql.js";
import { membersOf } from "../users/pages.js";
import { memberColumns, type MemberRow, type OrganizationMember, visiblePart } from "./members.js";
import type { OrganizationRow } from "./organizations.js";

/** Lists the members of an organization, by username: one statement for all organizations of a request. */
export async function membersOfOrganization(
  ctx: Context,
  { id }: OrganizationRow,
  page: PageArguments,
): Promise<Page<OrganizationMember>> {
  authorize(ctx.actor, "organization_member:read", { organizationId: id });
  const problems = new Problems();
  const range = readRange(page, { username: "text" }, problems);
  problems.throwIfAny();
  const members = await ctx.load(readPages, { ownerId: id, range });
  return pageOf(
    range,
    members.map((member) => visiblePart(ctx, member)),
    {
      cursor: (member) => cursor(member.id, { username: folded(member.username) }),
      count: async () => Math.min(await ctx.load(countMembers, id), mostCounted),
    },
  );
}

const roster = membersOf(ownerId);

/** Orders by username. A page may begin at any member. */
const byName: Order = {
  keys: [
    {
      column: roster.username,
      ofPlace: (id) => sql`(select ${roster.username} ${roster.index} and ${roster.id} = ${id})`,
    },
  ],
  id: roster.id,
};

const readPages = (ctx: Context, wanted: readonly NestedPage[]): Promise<MemberRow[][]> =>
  readNested(ctx, wanted, (range) =>
    rowsIn(
      range,
      byName,
      (beyond) => sql`select ${raw(memberColumns)} ${roster.from} and ${allOf(beyond)}`,
      (beyond) => sql`${roster.index} and ${allOf(beyond)}`,
    ),
  );

/** The number of members of an organization. */
export function memberCountOf(ctx: Context, { id }: OrganizationRow): Promise<number> {
  authorize(ctx.actor, "organization_member:read", { organizationId: id });
  return ctx.load(countMembers, id);
}

// The group Everyone has the id of its organization and keeps a count. Deleted organizations have no groups.
const everyoneCounts = lookup<{ id: string; count: number }>(
  "select id, member_count as count from groups where id = any($1::uuid[])",
);

async function countMembers(ctx: Context, ids: readonly string[]): Promise<number[]> {
  const counts = new Map((await ctx.rows(everyoneCounts, ids)).map(({ id, count }) => [id, count]));
  return ids.map((id) => counts.get(id) ?? 0);
}
