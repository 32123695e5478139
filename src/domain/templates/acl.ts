import { type Expression, type RawBuilder, sql, type SqlBool } from "kysely";
import { requireFeature } from "../entitlements/requirements.js";
import { type AccessList, accessLists, AclChange, groupRoleNotice } from "../groups/access-lists.js";
import { type GroupRow, groups, membersAtOnce } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { containing } from "../kernel/queries.js";
import { foldCase } from "../../runtime/text.js";
import { defineListOfEach, text } from "../kernel/lists.js";
import { parseSearch, searchQuery } from "../search-text.js";
import { invalidQuery, type Page, PageArguments } from "../kernel/paging.js";
import { userFields, type UserRow } from "../users/users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { type AclRole, findTemplateFor, lockTemplate, NamedTemplate, ofTemplate } from "./templates.js";
import { inputOf, type Input, listOf, optional } from "../kernel/values.js";

const u = columnsOf("users", "u");
const g = columnsOf("groups", "g");

/** The role of an entry. */
export const TemplateRole = { USE: "use", ADMIN: "admin" } as const satisfies Record<string, AclRole>;

const entries = accessLists("templateAclEntries", "templateId");

/** Finds the access list of a template that the caller may update. */
export async function findTemplateAcl(ctx: Context, templateId: string): Promise<AccessList> {
  const { id } = await findTemplateFor(ctx, templateId, "template:update");
  return readTemplateAcl(ctx, id);
}

/** Reads an access list without a check: a change may have taken the permission from the caller. */
export const readTemplateAcl = (ctx: Context, id: string): Promise<AccessList> => entries.read(ctx, id);

export const UpdateTemplateAcl = inputOf({
  templateId: NamedTemplate.shape.templateId,
  groupPerms: optional(listOf(AclChange), `Entries of groups of the organization. ${groupRoleNotice}`),
  userPerms: optional(listOf(AclChange), "Entries of members of the organization."),
});
export type UpdateTemplateAcl = Input<typeof UpdateTemplateAcl>;

/** Sets and removes entries of the access list of a template; others stay. Returns the id of the template. */
export async function updateTemplateAcl(ctx: Context, input: UpdateTemplateAcl): Promise<string> {
  const template = await lockTemplate(ctx, input.templateId, "template:update");
  requireFeature(ctx, "template_rbac");
  const diff = await entries.change(ctx, template, input);
  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...ofTemplate(template), diff });
  return template.id;
}

/** The users and groups that can hold an entry of the access list of a template. */
export interface TemplateAclAvailable {
  /** Members of the organization, by username. */
  users: Page<UserRow>;
  /** Groups of the organization, Everyone included, by name. */
  groups: GroupRow[];
}

export const AvailableQuery = inputOf({
  ...PageArguments.shape,
  ...NamedTemplate.shape,
  search: optional(
    searchQuery,
    "Words that must each occur in the username or email address of a user, or in the name or display name of a group.",
  ),
});
export type AvailableQuery = Input<typeof AvailableQuery>;

/** The words of a search: each any of several alternatives. */
type Words = ReadonlyArray<readonly string[]>;

/** The condition that a column contains each word. */
const containAll = (words: Words, columns: ReadonlyArray<RawBuilder<unknown>>) =>
  words.map((word) => {
    const patterns = word.map((part) => containing(foldCase(part)));
    const found = columns.map((column) => sql<SqlBool>`${column} like any(${patterns}::text[])`);
    return sql<SqlBool>`(${sql.join(found, sql` or `)})`;
  });

const members = (ctx: Context, organization: Expression<string>) =>
  ctx.db
    .selectFrom("organizationMembers as m")
    .innerJoin("users as u", "u.id", "m.userId")
    .where("m.organizationId", "=", organization)
    .select(userFields)
    .$castTo<UserRow>();

const memberList = defineListOfEach(members, {
  id: { column: "m.userId", of: ({ id }) => id },
  // organization_members_list_index
  orders: {
    username: { username: text<UserRow>("m.username", { of: ({ username }) => foldCase(username), collation: "C" }) },
  },
  filters: {
    words: (eb, words: Words) =>
      eb.and([
        // As in the partial indexes of users.
        sql<SqlBool>`${u.deletedAt} is null and not ${u.isSystem}`,
        ...containAll(words, [sql`lower(u.username collate "C")`, sql`lower(u.email collate "C")`]),
      ]),
  },
  planned: ["words"],
});

/** The page size of users: by default the largest. */
const usualSize = 1000;

/** Lists the users and groups that an entry can be added for, to callers who may update the template. */
export async function templateAclAvailable(
  ctx: Context,
  { templateId, search, ...page }: AvailableQuery,
): Promise<TemplateAclAvailable> {
  const { organizationId } = await findTemplateFor(ctx, templateId, "template:update");
  const isBackward = page.last != null || Boolean(page.before);
  const { words } = parseSearch(search ?? "", {}, invalidQuery);
  const users = await memberList.pageOf(ctx, organizationId, {
    page: isBackward ? page : { ...page, first: page.first || usualSize },
    filter: { words: words.length > 0 ? words : null },
  });
  const found = await groups(ctx.db)
    .where("g.organizationId", "=", organizationId)
    .where((eb) =>
      eb.and(containAll(words, [sql`lower(g.name collate "C")`, sql`lower(${g.displayName} collate "C")`])),
    )
    .orderBy("g.name")
    .orderBy("g.id")
    .execute();
  return { users, groups: found.map((group) => ({ ...group, membersAtOnce: membersAtOnce.listed })) };
}
