import { groupColumns, type GroupRow, groupsWithOrganization } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import type { Page } from "../kernel/page.js";
import { invalidQuery, type PageArguments, readRange } from "../kernel/paging.js";
import { parseSearch } from "../kernel/search.js";
import { allOf, anyOf, containing, raw, type Sql, sql } from "../kernel/sql.js";
import { byUsername, membersOf, pageOfUsers, readAccounts, wholeAccounts } from "../users/pages.js";
import { listedUsers } from "../users/search.js";
import type { FoundUser } from "../users/users.js";
import { findTemplateFor } from "./templates.js";

/** What can hold an entry of the access list of a template. */
export interface TemplateAclAvailable {
  /** Members of the organization, by username. */
  users: Page<FoundUser>;
  /** Groups of the organization, Everyone included, by name. */
  groups: GroupRow[];
}

export interface AvailableQuery extends PageArguments {
  templateId: string;
  /** Words that must each occur in the username or email, or in the name or display name of a group. */
  search?: string | null;
}

/** The page size of users: by default the largest. */
const usualSize = 1000;

/** Lists the users and groups that an entry can be added for, to callers who may update the template. */
export async function templateAclAvailable(
  ctx: Context,
  { templateId, search, ...page }: AvailableQuery,
): Promise<TemplateAclAvailable> {
  const { organizationId } = await findTemplateFor(ctx, templateId, "template:update");
  const problems = new Problems();
  const isBackward = page.last != null || Boolean(page.before);
  const range = readRange(
    isBackward ? page : { ...page, first: page.first || usualSize },
    { username: "text" },
    problems,
  );
  problems.throwIfAny(invalidQuery);
  const { words } = parseSearch(search ?? "", {}, invalidQuery);
  const roster = membersOf(organizationId);
  const isMember = sql`exists(
    select from organization_members m where m.organization_id = ${organizationId} and m.user_id = place.id)`;
  const listing = {
    columns: wholeAccounts,
    roster,
    by: byUsername(roster),
    isDescending: false,
    narrowings: words.length > 0 ? [listedUsers(allOf(...words.map(isInUser)))] : [],
    isPlace: isMember,
  };
  const [users, groups] = await Promise.all([
    pageOfUsers<FoundUser>(ctx, range, listing, (rows) => readAccounts(ctx, rows)),
    ctx.select<GroupRow>(sql`
      select ${raw(groupColumns)}, 1000 as "membersAtOnce" from ${raw(groupsWithOrganization)}
      where ${allOf(sql`g.organization_id = ${organizationId}`, ...words.map(isInGroup))} order by g.name, g.id`),
  ]);
  return { users, groups };
}

/** The condition that a text contains any of the alternatives of a word. */
const containsAny = (text: Sql, word: readonly string[]): Sql =>
  sql`${text} like any(${word.map((part) => containing(folded(part)))}::text[])`;

const isInUser = (word: readonly string[]): Sql =>
  anyOf(containsAny(raw(foldedSql("u.username")), word), containsAny(raw(foldedSql("u.email")), word));

const isInGroup = (word: readonly string[]): Sql =>
  anyOf(containsAny(raw(foldedSql("g.name")), word), containsAny(raw(foldedSql("g.display_name")), word));
