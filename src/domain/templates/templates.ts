import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { Template } from "../../entities/templates.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { authorize, selectPermitted, sees } from "../authorization/authorization.js";
import { groupIdsOf } from "../groups/memberships.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { notFound, Problems } from "../kernel/errors.js";
import { anyOf, type Match, rowById } from "../kernel/queries.js";
import { contains, defineList, inOrganizations, text, time } from "../kernel/lists.js";
import { listArguments, orderOf, type Page } from "../kernel/paging.js";
import { check, type Input, inputOf, optional, reference, required, searchText, uuid } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const e = columnsOf("templateAclEntries", "e");

const templates = (db: Db) =>
  db
    .selectFrom("templates as t")
    .select([
      "t.id",
      "t.createdAt",
      "t.updatedAt",
      "t.organizationId",
      "t.name",
      "t.displayName",
      "t.description",
      "t.icon",
      "t.creatorId",
      "t.activeVersionId",
      "t.defaultTtl as defaultTtlSeconds",
      "t.activityBump as activityBumpSeconds",
      "t.autostopDays",
      "t.allowUserAutostart",
      "t.autostartDays",
      "t.automaticUpdates",
      "t.dormantAfter as dormantAfterSeconds",
      "t.deleteAfter as deleteAfterSeconds",
      "t.allowUserCancel",
      "t.requireActiveVersion",
      "t.deprecationMessage",
    ]);

export type TemplateRow = InferResult<ReturnType<typeof templates>>[number];

/** The role of a user in the access list of a template. */
export type AclRole = "use" | "admin";

/** The role of the caller in the access list of the template `t`, by which the policy decides; null without one. */
export const aclOfCaller = ({ actor }: Pick<Context, "actor">) => aclOf(userIdOf(actor) ?? null);

/** The role of a user in the access list of the template `t`; null without one. `admin` comes first in the alphabet. */
export function aclOf(user: string | null) {
  return sql<AclRole | null>`(
    select min(e.role) from template_acl_entries e
    where ${e.templateId} = t.id and (${e.userId} = ${user} or ${e.groupId} = any(array(${groupIdsOf(user)}))))`.as(
    "acl",
  );
}

const liveTemplates = (ctx: Context) => templates(ctx.db).where("t.deletedAt", "is", null);
const foundTemplates = (ctx: Context) => liveTemplates(ctx).select(aclOfCaller(ctx));

/** A template with the role of the caller in its access list. */
export type FoundTemplate = InferResult<ReturnType<typeof foundTemplates>>[number];

const readable = (ctx: Context, template: FoundTemplate | undefined): FoundTemplate => {
  if (!template || !sees(ctx.actor, "template:read", template)) throw notFound();
  return template;
};

/** Finds a template by id. Throws NOT_FOUND if the caller may not read it. */
export const findTemplate = async (ctx: Context, id: string): Promise<FoundTemplate> =>
  readable(ctx, await foundTemplates(ctx).where("t.id", "=", id).executeTakeFirst());

/** Finds a template of an organization by its name, in any letter case. Throws NOT_FOUND if it is not readable. */
export async function findTemplateByName(ctx: Context, organization: string, name: string): Promise<FoundTemplate> {
  const { id } = await findOrganization(ctx, organization);
  const ofOrganization = foundTemplates(ctx).where("t.organizationId", "=", id);
  return readable(ctx, await ofOrganization.where(sql<SqlBool>`lower(t.name) = lower(${name})`).executeTakeFirst());
}

/** Finds a template that the caller may do this with. Throws NOT_FOUND if it is not readable, otherwise FORBIDDEN. */
export async function findTemplateFor(
  ctx: Context,
  id: string,
  permission: "template:update" | "template:delete",
): Promise<FoundTemplate> {
  const template = await findTemplate(ctx, id);
  authorize(ctx.actor, permission, template);
  return template;
}

/**
 * Finds a template like `findTemplateFor` and locks it until the transaction ends: no other one changes it or adds
 * versions. Locks nothing for callers without the permission.
 */
export async function lockTemplate(
  ctx: Context,
  id: string,
  permission: "template:update" | "template:delete",
): Promise<FoundTemplate> {
  const { acl } = await findTemplateFor(ctx, id, permission);
  const template = await liveTemplates(ctx).where("t.id", "=", id).forNoKeyUpdate().executeTakeFirst();
  if (!template) throw notFound();
  return { ...template, acl };
}

/**
 * Keeps a template from being changed or deleted until the transaction ends, for the creation of a workspace. Throws
 * NOT_FOUND if it was deleted.
 */
export async function holdTemplate(ctx: Context, id: string): Promise<void> {
  if (!(await liveTemplates(ctx).where("t.id", "=", id).forShare().executeTakeFirst())) throw notFound();
}

/** Batch read of templates by id, deleted ones included. Checks no permission: the object that has the id does. */
export async function templatesById(ctx: Context, ids: readonly string[]): Promise<Array<TemplateRow | undefined>> {
  const rows = await templates(ctx.db).where("t.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

/** A template. */
export const NamedTemplate = inputOf({ templateId: required(uuid, "ID of the template.") });
export type NamedTemplate = Input<typeof NamedTemplate>;

/** Filters of templates. An absent filter does not narrow. */
export const TemplateFilter = inputOf({
  organization: optional(reference, "Organization of the template: ID, name, or `default`."),
  search: optional(searchText, "Substring of the name or display name, case-insensitive."),
});
export type TemplateFilter = Input<typeof TemplateFilter>;

export const TemplateOrderField = { NAME: "name", CREATED_AT: "createdAt" } as const;
export type TemplateOrderField = (typeof TemplateOrderField)[keyof typeof TemplateOrderField];

export const TemplateOrder = orderOf(TemplateOrderField);
export const TemplatesQuery = listArguments(TemplateFilter, TemplateOrder, "by name, ascending");
export type TemplatesQuery = Input<typeof TemplatesQuery>;

/** The templates that the caller may read. */
function readableTemplates(ctx: Context) {
  const { everywhere, organizations, sharedForUse } = selectPermitted(ctx.actor, "template:read");
  if (everywhere) return liveTemplates(ctx);
  const isTheirs = inOrganizations("t.organizationId", organizations);
  const user = userIdOf(ctx.actor) ?? null;
  const isShared = sql<SqlBool>`t.id in (
    select ${e.templateId} from template_acl_entries e where ${e.userId} = ${user}
    union all select ${e.templateId} from template_acl_entries e where ${e.groupId} = any(array(${groupIdsOf(user)})))`;
  return liveTemplates(ctx).where((eb) => (sharedForUse ? eb.or([isTheirs, isShared]) : isTheirs));
}

const isNamed = (part: string, match?: Match) =>
  sql<SqlBool>`(${contains("t.name", part, match)} or ${contains("t.displayName", part, match)})`;

/** The templates that the caller may read whose names match a text. */
export const templatesNamed = (ctx: Context, part: string, match: Match) =>
  readableTemplates(ctx).where(isNamed(part, match));

const templateList = defineList(readableTemplates, {
  id: { column: "t.id", of: ({ id }) => id },
  orders: {
    // templates_page_index
    [TemplateOrderField.NAME]: {
      name: text<TemplateRow>(sql`lower(t.name) collate "C"`, { of: ({ name }) => name.toLowerCase() }),
    },
    // templates_created_index
    [TemplateOrderField.CREATED_AT]: { createdAt: time<TemplateRow>("t.createdAt") },
  },
  filters: {
    organization: (eb, id: string) => eb("t.organizationId", "=", id),
    search: (_, part: string) => isNamed(part),
  },
  planned: ["search"],
});

/** Lists the templates that the caller may read. */
export async function listTemplates(ctx: Context, query: TemplatesQuery): Promise<Page<TemplateRow>> {
  const { filter, orderBy, ...page } = query;
  const problems = new Problems();
  const { organization, search } = filter ?? {};
  check(TemplateFilter, { search }, problems, "filter");
  const organizationId = organization ? (await findOrganization(ctx, organization)).id : undefined;
  return templateList.page(ctx, { filter: { search, organization: organizationId }, orderBy, page }, problems);
}

export const ofTemplate = ({ id, name, organizationId }: Pick<TemplateRow, "id" | "name" | "organizationId">) =>
  auditedAs("template", id, name, organizationId);

auditChangesOf(Template, {
  resource: ({ id, organization }, before) => ofTemplate({ id, name: before("name"), organizationId: organization.id }),
  fields: [
    "name",
    "displayName",
    "description",
    "icon",
    "activeVersionId",
    "defaultTtl",
    "activityBump",
    "autostopDays",
    "allowUserAutostart",
    "autostartDays",
    "automaticUpdates",
    "dormantAfter",
    "deleteAfter",
    "allowUserCancel",
    "requireActiveVersion",
    "deprecationMessage",
  ],
  names: {
    defaultTtl: "defaultTtlSeconds",
    activityBump: "activityBumpSeconds",
    dormantAfter: "dormantAfterSeconds",
    deleteAfter: "deleteAfterSeconds",
  },
  deletion: { fields: ["name"] },
});
