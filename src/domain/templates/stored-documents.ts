import { createHash } from "node:crypto";
import { TemplateDocument as StoredDocument } from "../../entities/templates.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import type { TemplateDocument } from "./documents.js";

// The update does nothing, but returns the row that another transaction has inserted.
const insert = statement<{ id: string }>(`
  insert into template_documents as d (id, organization_id, sha256, content, created_at)
  values ($1, $2, $3, $4, now())
  on conflict (organization_id, sha256) do update set created_at = d.created_at
  returning id`);

/** Stores a document, unless the organization has an equal one. Returns its id. */
export async function storeDocument(ctx: Context, organizationId: string, document: TemplateDocument): Promise<string> {
  const text = JSON.stringify(document);
  const hash = createHash("sha256").update(text).digest();
  return (await ctx.row(insert, newId(), organizationId, hash, text))!.id;
}

const columns = columnsOf(StoredDocument, "d", ["id", "content"]);

const byIds = lookup<RowOf<typeof columns>>(`select ${columns} from template_documents d where d.id = any($1::uuid[])`);

/** Batch read of documents by id. Checks no permission. */
export async function documentsById(ctx: Context, ids: readonly string[]): Promise<TemplateDocument[]> {
  const documents = new Map((await ctx.rows(byIds, ids)).map(({ id, content }) => [id, content]));
  return ids.map((id) => documents.get(id) as unknown as TemplateDocument);
}
