import { createHash } from "node:crypto";
import { type Expression, type InferResult, sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { authorize, may, sees } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { forbidden, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { anyOf, now, rowById } from "../kernel/queries.js";
import { defineListOfEach, time } from "../kernel/lists.js";
import type { Page, PageArguments } from "../kernel/paging.js";
import { type JobRow, jobsByIds } from "../provisioners/provisioner-jobs.js";
import { withCleanLabels, withCleanParameters } from "./clean-labels.js";
import type { DocumentParameter, TemplateDocument } from "./template-documents.js";
import { aclOfCaller, type TemplateRow, templatesById } from "./templates.js";

const versions = (db: Db) =>
  db
    .selectFrom("templateVersions as v")
    .select([
      "v.id",
      "v.createdAt",
      "v.updatedAt",
      "v.templateId",
      "v.name",
      "v.documentId",
      "v.creatorId",
      "v.jobId",
      "v.isImported",
      "v.archivedAt",
      "v.taskAgent",
      "v.taskApp",
      "v.hasExternalAgent",
    ]);

export type VersionRow = InferResult<ReturnType<typeof versions>>[number];

const foundVersions = (ctx: Context) =>
  versions(ctx.db)
    .innerJoin("templates as t", "t.id", "v.templateId")
    .where("t.deletedAt", "is", null)
    .select(["t.organizationId", aclOfCaller(ctx)]);

/** A version with what the policy reads of its template. */
export type FoundVersion = InferResult<ReturnType<typeof foundVersions>>[number];

/** Finds a version. Throws NOT_FOUND if the caller may not read its template, or the template was deleted. */
export async function findVersion(ctx: Context, id: string): Promise<FoundVersion> {
  const version = await foundVersions(ctx).where("v.id", "=", id).executeTakeFirst();
  if (!version || !sees(ctx.actor, "template:read", version)) throw notFound();
  return version;
}

/** Batch read of versions by id. Checks no permission: the object that has the id does. */
export async function versionsById(ctx: Context, ids: readonly string[]): Promise<Array<VersionRow | undefined>> {
  const rows = await versions(ctx.db).where("v.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

const versionsOfTemplates = defineListOfEach(
  (ctx, template: Expression<string>) => versions(ctx.db).where("v.templateId", "=", template),
  {
    id: { column: "v.id", of: ({ id }) => id },
    orders: { createdAt: { createdAt: time<VersionRow>("v.createdAt") } }, // template_versions_page_index
    filters: {},
  },
);

/** Lists the versions of a template that the caller may read, newest first. One statement for all templates. */
export async function versionsOf(
  ctx: Context,
  { id }: Pick<TemplateRow, "id">,
  page: PageArguments,
): Promise<Page<VersionRow>> {
  const found = await versionsOfTemplates.pageOf(ctx, id, { page, orderBy: { field: "createdAt", direction: "desc" } });
  return { ...found, count: () => found.count(true) };
}

/** The job that imports a version; null unless the caller may read the job. */
export async function importOf(ctx: Context, { jobId }: Pick<VersionRow, "jobId">): Promise<JobRow | null> {
  const job = await ctx.load(jobsByIds, jobId);
  if (!job) return null;
  const { organizationId, initiatorId: ownerId } = job;
  return may(ctx.actor, "provisioner_job:read", { organizationId, ownerId }) ? job : null;
}

/** Stores a document, unless the organization has an equal one. Returns its id. */
export async function storeDocument(ctx: Context, organizationId: string, content: TemplateDocument): Promise<string> {
  const sha256 = createHash("sha256").update(JSON.stringify(content)).digest();
  const { id } = await ctx.db
    .insertInto("templateDocuments")
    .values({ id: newId(), organizationId, sha256, content, createdAt: now })
    // Changes nothing, but returns the row that another transaction has inserted.
    .onConflict((equal) =>
      equal
        .columns(["organizationId", "sha256"])
        .doUpdateSet((eb) => ({ createdAt: eb.ref("templateDocuments.createdAt") })),
    )
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Reads the document of a version. Throws FORBIDDEN for callers without `file:read`. */
export async function documentOf(ctx: Context, { templateId, documentId }: VersionRow): Promise<TemplateDocument> {
  const template = await ctx.load(templatesById, templateId);
  if (!template) throw forbidden();
  authorize(ctx.actor, "file:read", template);
  return ctx.load(documentsById, documentId);
}

/** Batch read of documents by id. Checks no permission. */
export async function documentsById(ctx: Context, ids: readonly string[]): Promise<TemplateDocument[]> {
  const rows = await ctx.db
    .selectFrom("templateDocuments")
    .where("id", "=", anyOf(ids))
    .select(["id", "content"])
    .$castTo<{ id: string; content: TemplateDocument }>()
    .execute();
  const found = new Map(rows.map(({ id, content }) => [id, withCleanLabels(content)]));
  return ids.map((id) => found.get(id)!);
}

/** The parameters of a version, in the order of its document. Checks no permission: the version does. */
export const parametersOf = (ctx: Context, { documentId }: VersionRow): Promise<DocumentParameter[]> =>
  ctx.load(parametersByDocument, documentId);

/** Batch read of the parameters of documents. The rest of a document may be secret. */
async function parametersByDocument(ctx: Context, ids: readonly string[]): Promise<DocumentParameter[][]> {
  const rows = await ctx.db
    .selectFrom("templateDocuments")
    .where("id", "=", anyOf(ids))
    .select(["id", sql<DocumentParameter[]>`content -> 'parameters'`.as("parameters")])
    .execute();
  const found = new Map(rows.map(({ id, parameters }) => [id, withCleanParameters(parameters)]));
  return ids.map((id) => [...(found.get(id) ?? [])]);
}
