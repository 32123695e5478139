import { auditedAs, diffOf } from "../audit/audit.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";
import { clientHint } from "../tokens/credentials.js";
import { clientColumns, type ClientRow } from "./client-rows.js";
import { isLive } from "./grants.js";

const byId = lookup<ClientRow>(`select ${clientColumns} from oauth2_clients c where c.id = $1`);
const byDocument = lookup<ClientRow>(`select ${clientColumns} from oauth2_clients c where c.document_url = $1`);

/** Finds a stored application by its `client_id`, disabled or not. Checks no permission. */
export const clientWithId = (ctx: Context, clientId: string): Promise<ClientRow | undefined> =>
  ctx.row(isUuid(clientId) ? byId : byDocument, clientId);

const byIds = lookup<ClientRow>(`select ${clientColumns} from oauth2_clients c where c.id = any($1::uuid[])`);

/** Batch read of applications by id, for `ctx.load`. Checks no permission: the object with the id does. */
export async function clientsById(ctx: Context, ids: readonly string[]): Promise<Array<ClientRow | Error>> {
  const found = new Map((await ctx.rows(byIds, ids)).map((client) => [client.id, client]));
  return ids.map((id) => found.get(id) ?? notFound());
}

// Before the application: redemptions lock the grant, then the secret of the application.
const deleteGrants = statement<{ ended: number }>(`
  with deleted as (delete from oauth2_grants g where client_id = $1 returning ${isLive} as live)
  select count(*) filter (where live) as ended from deleted`);
const deleteClient = statement(`delete from oauth2_clients where id = $1`);

/**
 * Deletes an application with its secrets, codes, grants and tokens, which end on every replica within a second. The
 * caller has locked it.
 */
export async function removeClient(ctx: Context, { id, name }: Pick<ClientRow, "id" | "name">): Promise<void> {
  const { ended } = (await ctx.row(deleteGrants, id))!;
  await ctx.rows(deleteClient, id);
  // One event for all grants, of which there can be millions.
  ctx.audit({ action: "delete", ...auditedAs("oauth2_app", id, name), diff: diffOf({ grants: ended }, { grants: 0 }) });
  ctx.publish(clientHint(id));
}
