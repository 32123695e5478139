import { OAuth2Client } from "../../entities/oauth2.js";
import { auditedAs } from "../audit/audit.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";
import { clientHint } from "../tokens/credentials.js";

/** How an application came to be: made by an administrator, self-registered, or described by a metadata document. */
export const ClientKind = { ADMIN: "admin", DYNAMIC: "dynamic", DOCUMENT: "document" } as const;
export type ClientKind = (typeof ClientKind)[keyof typeof ClientKind];

/** Whether an application can keep a secret (RFC 6749 §2.1). */
export const ClientType = { CONFIDENTIAL: "confidential", PUBLIC: "public" } as const;
export type ClientType = (typeof ClientType)[keyof typeof ClientType];

/** The grant types (RFC 6749 §4, RFC 8628 §3.4). */
export const GrantType = {
  AUTHORIZATION_CODE: "authorization_code",
  REFRESH_TOKEN: "refresh_token",
  CLIENT_CREDENTIALS: "client_credentials",
  DEVICE_CODE: "urn:ietf:params:oauth:grant-type:device_code",
} as const;
export type GrantType = (typeof GrantType)[keyof typeof GrantType];

/** How an application authenticates at the token endpoint (RFC 7591 §2). */
export const AuthMethod = {
  CLIENT_SECRET_BASIC: "client_secret_basic",
  CLIENT_SECRET_POST: "client_secret_post",
  NONE: "none",
} as const;
export type AuthMethod = (typeof AuthMethod)[keyof typeof AuthMethod];

/** The columns of a `ClientRow`, from `oauth2_clients c`. */
export const clientColumns = columnsOf(OAuth2Client, "c", [
  "id",
  "kind",
  "type",
  "name",
  "icon",
  "redirectUris",
  "pkceRequired",
  "scopeCeiling",
  "grantTypes",
  "authMethod",
  "serviceUserId",
  "documentUrl",
  "metadata",
  "lastUsedAt",
  "createdById",
  "createdIp",
  "createdAt",
  "updatedAt",
  "isDisabled",
]);

/** An OAuth2 application. */
export interface ClientRow extends RowOf<typeof clientColumns> {
  kind: ClientKind;
  type: ClientType;
  grantTypes: GrantType[];
  authMethod: AuthMethod | null;
}

/** The `client_id` of an application in the protocol. */
export const clientIdOf = ({ id, documentUrl }: Pick<ClientRow, "id" | "documentUrl">): string => documentUrl ?? id;

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
const deleteGrants = statement(`delete from oauth2_grants where client_id = $1`);
const deleteClient = statement(`delete from oauth2_clients where id = $1`);

/**
 * Deletes an application with its secrets, codes, grants and tokens, which end on every replica within a second. The
 * caller has locked it.
 */
export async function removeClient(ctx: Context, { id, name }: Pick<ClientRow, "id" | "name">): Promise<void> {
  await ctx.rows(deleteGrants, id);
  await ctx.rows(deleteClient, id);
  ctx.audit({ action: "delete", ...auditedAs("oauth2_app", id, name) });
  ctx.publish(clientHint(id));
}
