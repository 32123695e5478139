import type { Context } from "../../context.js";
import { reach } from "../authorization.js";
import { statement } from "../database.js";
import { conflict, notFound } from "../errors.js";
import { jsonOf } from "../json.js";
import { findOrganization, organizationColumns, type OrganizationRow } from "../organizations.js";
import type { Page } from "../page.js";
import { isUuid } from "../text.js";
import {
  firstMembers,
  type GroupMemberRow,
  type MembersQuery,
  membersAtOnce,
  memberships,
  membersToReadAlong,
  membersWithUsers,
} from "./members.js";

/** Who made a group: people, or an identity provider. */
export enum GroupSource {
  USER = "user",
  OIDC = "oidc",
}

/** What every member of a group may spend on AI in a calendar month. */
export interface GroupAiBudgetRow {
  /** Millionths of the deployment's currency. */
  spendLimitMicros: number;
  createdAt: string;
  updatedAt: string;
}

/** The columns of a `GroupAiBudgetRow`, for statements that call the table `b`. */
export const budgetColumns = `b.spend_limit_micros as "spendLimitMicros", b.created_at as "createdAt",
  b.updated_at as "updatedAt"`;

/** A group as all its readers see it. */
export interface GroupRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  organizationId: string;
  organization: OrganizationRow;
  name: string;
  displayName: string;
  avatarUrl: string;
  quotaAllowance: number;
  source: GroupSource;
  /** Whether the caller is in it. */
  isMember: boolean;
  /** All members, also those whom the caller does not see. */
  totalMemberCount: number;
  /** Not for every reader: see `aiBudgetOf`. */
  aiBudget: GroupAiBudgetRow | null;
  /** How many members it shows at once, at most. */
  membersAtOnce: number;
  /** The first members, when they were read along: in one statement, so that nobody sees half of a change. */
  firstMembers?: GroupMemberRow[] | null;
  /** Pages of members that were read before the group was deleted, by what was asked. */
  keptPages?: ReadonlyMap<string, Page<GroupMemberRow>>;
}

const isMember = `exists (select from ${memberships} m where m.group_id = g.id and m.user_id = $1)`;

const readable = `
  from groups g
  join organizations o on o.id = g.organization_id and o.deleted_at is null
  left join group_ai_budgets b on b.group_id = g.id
  where ($2 or g.organization_id = any($3::uuid[]) or ($4 and ${isMember}))`;

/** Groups that the caller may read, with up to `$6` of the members whom the caller sees; none are read for null. */
export const selectGroups = (condition: string, atOnce: number): string => `
  select g.id, g.created_at as "createdAt", g.updated_at as "updatedAt", g.organization_id as "organizationId",
    ${jsonOf(organizationColumns)} as organization,
    g.name, g.display_name as "displayName", g.avatar_url as "avatarUrl", g.quota_allowance as "quotaAllowance", g.source,
    ${isMember} as "isMember",
    (select count(*) from ${membersWithUsers("g.id", "g.id = g.organization_id")}) as "totalMemberCount",
    case when b.group_id is not null then ${jsonOf(budgetColumns)} end as "aiBudget",
    ${atOnce} as "membersAtOnce", ${firstMembers(atOnce)} as "firstMembers"
  ${readable} and ${condition}`;

/** How many groups `selectGroups` would give. It ignores `$5` to `$7` unless the condition needs them. */
export const countGroups = (condition: string): string => `select count(*) as count ${readable} and ${condition}`;

/** Values for `$1` to `$7` of these statements. */
export function readBy({ actor }: Context, members: readonly MembersQuery[] = []): unknown[] {
  const { everywhere, organizations, inGroup } = reach(actor, "group:read");
  const full = reach(actor, "group_member:read");
  return [
    actor.userId ?? null,
    everywhere,
    organizations,
    inGroup,
    full.everywhere,
    membersToReadAlong(members),
    full.organizations,
  ];
}

const selectGroup = (condition: string) => selectGroups(condition, membersAtOnce.alone);

const byId = selectGroup("g.id = $8");
const byName = selectGroup("g.name = $8 order by g.id limit 2");
const inOrganization = selectGroup("g.organization_id = $8 and g.name = $9");

const reading = { byId: statement<GroupRow>(byId), byName: statement<GroupRow>(byName) };

// Not `for update`: rows that refer to the group may be read and added by those who hold this lock.
const locking = {
  byId: statement<GroupRow>(`${byId} for no key update of g`),
  byName: statement<GroupRow>(`${byName} for no key update of g`),
};

/**
 * The group that `ref` means to the caller: an id, or a name that is unambiguous among the groups the caller sees.
 * Throws if it is not readable. `members` are to be read along.
 */
export const findGroup = (ctx: Context, ref: string, members: MembersQuery[] = []): Promise<GroupRow> =>
  find(ctx, ref, reading, members);

/** The same, and nobody else changes the group or its members until this transaction ends. */
export const lockGroup = (ctx: Context, ref: string): Promise<GroupRow> => find(ctx, ref, locking, []);

async function find(ctx: Context, ref: string, statements: typeof reading, members: MembersQuery[]): Promise<GroupRow> {
  const wanted = isUuid(ref) ? statements.byId : statements.byName;
  const [group, another] = await ctx.rows(wanted, ...readBy(ctx, members), ref);
  if (!group) throw notFound();
  if (another) throw conflict("The group name is ambiguous.");
  return group;
}

const groupInOrganization = statement<GroupRow>(inOrganization);

/** The group of that exact name in an organization, `Everyone` included; a name is never read as an id. */
export async function findGroupByName(
  ctx: Context,
  organizationRef: string,
  name: string,
  members: MembersQuery[] = [],
): Promise<GroupRow> {
  const organization = await findOrganization(ctx, organizationRef);
  const group = await ctx.row(groupInOrganization, ...readBy(ctx, members), organization.id, name);
  if (!group) throw notFound();
  return group;
}
