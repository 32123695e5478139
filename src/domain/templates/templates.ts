import { Template } from "../../entities/templates.js";
import { auditedAs } from "../audit/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { findOrganization } from "../organizations/organizations.js";
import { aclOf, type AclRole } from "./access.js";

const columns = columnsOf(Template, "t", [
  "id",
  "createdAt",
  "updatedAt",
  "organizationId",
  "name",
  "displayName",
  "description",
  "icon",
  "creatorId",
  "activeVersionId",
  "autostopDays",
  "allowUserCancel",
  "requireActiveVersion",
  "deprecationMessage",
]);

/** The columns of a template `t`. */
export const templateColumns = `${columns}, t.default_ttl as "defaultTtlSeconds",
  t.activity_bump as "activityBumpSeconds", t.dormant_after as "dormantAfterSeconds",
  t.delete_after as "deleteAfterSeconds"`;

export interface TemplateRow extends RowOf<typeof columns> {
  /** How long workspaces run after a start; 0 sets no limit. */
  defaultTtlSeconds: number;
  /** What activity adds to the deadline of a workspace. */
  activityBumpSeconds: number;
  /** After which time without use workspaces become dormant; 0 for never. */
  dormantAfterSeconds: number;
  /** After which time dormant workspaces are deleted; 0 for never. */
  deleteAfterSeconds: number;
}

/** A template with the role of the caller in its access list, by which the policy decides. */
export interface FoundTemplate extends TemplateRow {
  acl: AclRole | null;
}

const found = (user: string) =>
  `select ${templateColumns}, ${aclOf(user)} as acl from templates t where t.deleted_at is null`;

const byId = lookup<FoundTemplate>(`${found("$2")} and t.id = $1`);
const byName = lookup<FoundTemplate>(`${found("$3")} and t.organization_id = $1 and lower(t.name) = lower($2)`);

const readable = (ctx: Context, template: FoundTemplate | undefined): FoundTemplate => {
  if (!template || !sees(ctx.actor, "template:read", template)) throw notFound();
  return template;
};

/** Finds a template by id. Throws NOT_FOUND if the caller may not read it. */
export const findTemplate = async (ctx: Context, id: string): Promise<FoundTemplate> =>
  readable(ctx, await ctx.row(byId, id, userIdOf(ctx.actor) ?? null));

/** Finds a template of an organization by its name, in any letter case. Throws NOT_FOUND if it is not readable. */
export async function findTemplateByName(ctx: Context, organization: string, name: string): Promise<FoundTemplate> {
  const { id } = await findOrganization(ctx, organization);
  return readable(ctx, await ctx.row(byName, id, name, userIdOf(ctx.actor) ?? null));
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

const locking = statement<TemplateRow>(
  `select ${templateColumns} from templates t where t.id = $1 and t.deleted_at is null for no key update`,
);

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
  const template = await ctx.row(locking, id);
  if (!template) throw notFound();
  return { ...template, acl };
}

const sharing = statement<{ id: string }>("select id from templates where id = $1 and deleted_at is null for share");

/**
 * Keeps a template from being changed or deleted until the transaction ends, for the creation of a workspace. Throws
 * NOT_FOUND if it was deleted.
 */
export async function holdTemplate(ctx: Context, id: string): Promise<void> {
  if (!(await ctx.row(sharing, id))) throw notFound();
}

const byIds = lookup<TemplateRow>(`select ${templateColumns} from templates t where t.id = any($1::uuid[])`);

/** Batch read of templates by id, deleted ones included. Checks no permission: the object that has the id does. */
export async function templatesById(ctx: Context, ids: readonly string[]): Promise<Array<TemplateRow | undefined>> {
  const templates = new Map((await ctx.rows(byIds, ids)).map((each) => [each.id, each]));
  return ids.map((id) => templates.get(id));
}

export const ofTemplate = ({ id, name, organizationId }: Pick<TemplateRow, "id" | "name" | "organizationId">) =>
  auditedAs("template", id, name, organizationId);
