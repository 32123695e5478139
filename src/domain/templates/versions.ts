import { TemplateVersion } from "../../entities/templates.js";
import { authorize, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";
import { forbidden, notFound, Problems } from "../kernel/errors.js";
import { type Order, rowsIn } from "../kernel/list.js";
import { countNested, type NestedPage, ownerId, readNested } from "../kernel/nested.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, raw, sql } from "../kernel/sql.js";
import { aclOf, type AclRole } from "./access.js";
import type { TemplateDocument } from "./documents.js";
import { documentsById } from "./stored-documents.js";
import { type TemplateRow, templatesById } from "./templates.js";

/** The columns of a version `v`. */
export const versionColumns = columnsOf(TemplateVersion, "v", [
  "id",
  "createdAt",
  "updatedAt",
  "templateId",
  "name",
  "documentId",
  "creatorId",
  "jobId",
  "isImported",
  "archivedAt",
  "taskAgent",
  "taskApp",
  "hasExternalAgent",
]);

export type VersionRow = RowOf<typeof versionColumns>;

/** A version with what the policy reads of its template. */
export interface FoundVersion extends VersionRow {
  organizationId: string;
  acl: AclRole | null;
}

const byId = lookup<FoundVersion>(`
  select ${versionColumns}, t.organization_id as "organizationId", ${aclOf("$2")} as acl
  from template_versions v join templates t on t.id = v.template_id where v.id = $1 and t.deleted_at is null`);

/** Finds a version. Throws NOT_FOUND if the caller may not read its template, or the template was deleted. */
export async function findVersion(ctx: Context, id: string): Promise<FoundVersion> {
  const version = await ctx.row(byId, id, userIdOf(ctx.actor) ?? null);
  if (!version || !sees(ctx.actor, "template:read", version)) throw notFound();
  return version;
}

const byIds = lookup<VersionRow>(`select ${versionColumns} from template_versions v where v.id = any($1::uuid[])`);

/** Batch read of versions by id. Checks no permission: the object that has the id does. */
export async function versionsById(ctx: Context, ids: readonly string[]): Promise<Array<VersionRow | undefined>> {
  const versions = new Map((await ctx.rows(byIds, ids)).map((each) => [each.id, each]));
  return ids.map((id) => versions.get(id));
}

/** Reads the document of a version. Throws FORBIDDEN for callers without `file:read`. */
export async function documentOf(ctx: Context, { templateId, documentId }: VersionRow): Promise<TemplateDocument> {
  const template = await ctx.load(templatesById, templateId);
  if (!template) throw forbidden();
  authorize(ctx.actor, "file:read", template);
  return ctx.load(documentsById, documentId);
}

/** Lists the versions of a template that the caller may read, newest first. One statement for all templates. */
export async function versionsOf(
  ctx: Context,
  { id }: Pick<TemplateRow, "id">,
  page: PageArguments,
): Promise<Page<VersionRow>> {
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  problems.throwIfAny();
  return pageOf(range, await ctx.load(readPages, { ownerId: id, range }), {
    cursor: ({ id: versionId, createdAt }) => cursor(versionId, { createdAt }),
    count: () => ctx.load(countVersions, id),
  });
}

const isOfTemplate = sql`v.template_id = ${ownerId}`;

const newestFirst: Order = {
  keys: [
    {
      column: sql`v.created_at`,
      ofPlace: (id) => sql`(select v.created_at from template_versions v where v.id = ${id} and ${isOfTemplate})`,
    },
  ],
  id: sql`v.id`,
  isDescending: true,
};

const readPages = (ctx: Context, wanted: readonly NestedPage[]): Promise<VersionRow[][]> =>
  readNested(ctx, wanted, (range) =>
    rowsIn(
      range,
      newestFirst,
      (beyond) => sql`select ${raw(versionColumns)} from template_versions v where ${allOf(isOfTemplate, beyond)}`,
    ),
  );

const countVersions = (ctx: Context, templateIds: readonly string[]): Promise<number[]> =>
  countNested(ctx, templateIds, sql`select count(*) from template_versions v where ${isOfTemplate}`);
