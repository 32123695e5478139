import type { Context } from "../kernel/context.js";
import { authorize, reach, sight } from "../authorization/authorization.js";
import { type Statement, statement } from "../kernel/database.js";
import { conflict, notFound } from "../kernel/errors.js";
import { jsonOf } from "../kernel/json.js";
import { findOrganization, organizationColumns } from "../organizations/organizations.js";
import { isUuid } from "../kernel/text.js";
import { plainById } from "./plain.js";
import { firstMembers, isIn, type MembersQuery, memberCount, membersAtOnce, membersToReadAlong } from "./members.js";
import type { GroupRow } from "./row.js";

/** The columns of a `GroupAiBudgetRow`, for statements that call the table `b`. */
export const budgetColumns = `b.spend_limit_micros as "spendLimitMicros", b.created_at as "createdAt",
  b.updated_at as "updatedAt"`;

const isMember = isIn("$1");

const readable = `
  from groups g
  join organizations o on o.id = g.organization_id and o.deleted_at is null
  left join group_ai_budgets b on b.group_id = g.id
  where ($2 or g.organization_id = any($3::uuid[]) or ($4 and ${isMember}))`;

const selectGroups = (membersAtOnceHere: number, more: string, condition: string): string => `
  select g.id, g.created_at as "createdAt", g.updated_at as "updatedAt", g.organization_id as "organizationId",
    ${jsonOf(organizationColumns)} as organization,
    g.name, g.display_name as "displayName", g.avatar_url as "avatarUrl", g.quota_allowance as "quotaAllowance", g.source,
    ${isMember} as "isMember",
    ${memberCount} as "totalMemberCount",
    case when b.group_id is not null then ${jsonOf(budgetColumns)} end as "aiBudget",
    ${membersAtOnceHere} as "membersAtOnce"${more}
  ${readable} and ${condition}`;

/** Groups that the caller may read, with the first members whom the caller sees. Takes `readWithMembers`, then others. */
export const selectGroupsWithMembers = (atOnce: number, condition: string): string =>
  selectGroups(atOnce, `, ${firstMembers(atOnce)} as "firstMembers"`, condition);

/** Columns of the groups `g`, of organizations `o`, that the caller may read: for statements that look for some first. */
export const selectFromGroups = (columns: string, condition: string): string =>
  `select ${columns} ${readable} and ${condition}`;

/** How many groups that would be. */
export const countGroups = (condition: string): string => `select count(*) as count ${readable} and ${condition}`;

/** `$1` to `$4` of statements that read groups. */
function readBy({ actor }: Context): unknown[] {
  const { everywhere, organizations, inGroup } = sight(actor, "group:read");
  return [actor.userId ?? null, everywhere, organizations, inGroup];
}

/** `$1` to `$7` of statements that read members, too. */
export function readWithMembers(ctx: Context, members: readonly MembersQuery[] = []): unknown[] {
  const full = reach(ctx.actor, "group_member:read");
  return [...readBy(ctx), full.everywhere, membersToReadAlong(members), full.organizations];
}

/** What else will be asked of a group, so that it is read together with it. */
export interface GroupParts {
  /** Members that will be asked for. */
  members?: readonly MembersQuery[];
  /** False if nobody will ask for its times, its budget, or more of its organization than id and names. */
  detailed?: boolean;
}

interface Reading {
  /** Without members: Postgres plans it in no time, and it is asked for most. */
  plain: (ctx: Context, detailed: boolean, ...values: unknown[]) => Promise<GroupRow[]>;
  withMembers: Statement<GroupRow>;
}

/** `condition` gets the places of the values that it compares with. */
const readingOf = (condition: (...places: string[]) => string, plain = plainOf(condition)): Reading => ({
  plain,
  withMembers: statement(selectGroupsWithMembers(membersAtOnce.alone, condition("$8", "$9"))),
});

function plainOf(condition: (...places: string[]) => string): Reading["plain"] {
  const plain = statement<GroupRow>(selectGroups(membersAtOnce.alone, "", condition("$5", "$6")));
  return (ctx, _, ...values) => ctx.rows(plain, ...readBy(ctx), ...values);
}

const read = (
  ctx: Context,
  { plain, withMembers }: Reading,
  { members = [], detailed = true }: GroupParts,
  ...values: unknown[]
) =>
  membersToReadAlong(members) === null
    ? plain(ctx, detailed, ...values)
    : ctx.rows(withMembers, ...readWithMembers(ctx, members), ...values);

const byId = (id: string) => `g.id = ${id}`;
const byName = (name: string) => `g.name = ${name} order by g.id limit 2`;

const reading = {
  byId: readingOf((id) => byId(id), plainById("")),
  byName: readingOf((name) => byName(name)),
};

/**
 * The group that `ref` means to the caller: an id, or a name that is unambiguous among the groups the caller sees.
 * Throws if it is not readable.
 */
export async function findGroup(ctx: Context, ref: string, parts: GroupParts = {}): Promise<GroupRow> {
  const [group, another] = await read(ctx, isUuid(ref) ? reading.byId : reading.byName, parts, ref);
  if (!group) throw notFound();
  if (another) throw conflict("The group name is ambiguous.");
  return group;
}

// Not `for update`: rows that refer to the group may be read and added by those who hold this lock.
const lockById = plainById("and ($3 or g.organization_id = any($4::uuid[])) for no key update of g");

/**
 * The same for a caller who has a permission on the group, which no other transaction changes, nor its members, until
 * this one ends. Throws for all other callers, and locks nothing for them.
 */
export async function lockGroup(
  ctx: Context,
  ref: string,
  permission: `${"group" | "group_ai_budget"}:${"update" | "delete"}`,
): Promise<GroupRow> {
  const id = isUuid(ref) ? ref : (await findGroup(ctx, ref)).id;
  const { everywhere, organizations } = reach(ctx.actor, permission);
  const mayHold = everywhere || organizations.length > 0;
  const [group] = mayHold ? await lockById(ctx, true, id, everywhere, organizations) : [];
  if (group) return group;
  authorize(ctx.actor, permission, await findGroup(ctx, id));
  throw notFound();
}

const inOrganization = readingOf((organization, name) => `g.organization_id = ${organization} and g.name = ${name}`);

/** The group of that exact name in an organization, `Everyone` included; a name is never read as an id. */
export async function findGroupByName(
  ctx: Context,
  organizationRef: string,
  name: string,
  parts: GroupParts = {},
): Promise<GroupRow> {
  const organization = await findOrganization(ctx, organizationRef);
  const [group] = await read(ctx, inOrganization, parts, organization.id, name);
  if (!group) throw notFound();
  return group;
}
