import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { isSecretOf } from "../tokens/token-text.js";
import { AuthMethod, type ClientRow, type GrantType, longestClientId } from "./clients.js";
import { oauthFailure } from "./oauth-errors.js";
import { isStale, type KnownClient } from "./recent-clients.js";
import { parseSecret } from "./secrets.js";
import { bytes, choice, meant, optional, presented, required } from "../kernel/values.js";

/** The `client_id` of an application, and an input's field of it. */
export const clientReference = meant(bytes(0, longestClientId), { kind: "reference" });
export const namedClient = required(clientReference, "The `client_id` of the application.");

/** A token, a code, or a secret that an application presents. */
export const credential = presented(512);

/** The type of a token in inputs, which is visible in its text. */
export const typeHint = optional(bytes(0, 255), "`access_token` or `refresh_token`. Ignored.");

/** The fields of inputs by which an application authenticates. */
export const clientCredentials = {
  clientSecret: optional(credential, "Secret of the application. Public applications have none."),
  clientAuthMethod: optional(
    choice(AuthMethod),
    "How the secret was sent; the server sets it for REST. If given, it must be as the application registered it.",
  ),
};

/** How an application identifies itself (RFC 6749 §2.3). Empty values count as absent. */
export interface ClientCredentials {
  clientId?: string | null;
  clientSecret?: string | null;
  /** How the secret was sent, where a surface has several ways. */
  clientAuthMethod?: AuthMethod | null;
}

/** An application that authenticated, and the secret that it used with its expiry: null for public ones. */
export interface AuthenticatedClient extends ClientRow {
  secretId: string | null;
  secretExpiresAt: string | null;
}

/** The hash of no secret. */
const noHash = Buffer.alloc(32);

/**
 * Authenticates an application: a confidential one by its secret, a public one by its id alone. Throws `invalid_client`,
 * after the same work for an unknown application as for a wrong secret. Reads outside of the transaction of the request,
 * at most once per second.
 */
export async function authenticateClient(ctx: Context, credentials: ClientCredentials): Promise<AuthenticatedClient> {
  const { clientId, clientSecret, clientAuthMethod } = credentials;
  const parsed = parseSecret("clientSecret", clientSecret ?? "");
  const found = await ctx.services.clients.find(clientId ?? "", parsed?.id);
  const isRight = isSecretOf(found?.secretHash ?? noHash, parsed?.secret ?? "");
  const isAuthentic =
    found?.type === "public"
      ? !clientSecret
      : isRight && !isExpired(found) && isRegistered(clientAuthMethod, found?.authMethod);
  if (!found || found.isDisabled || !isAuthentic) throw invalidClient();
  if (found.isUseStale) noteUse(ctx, found);
  return found;
}

/** Finds an application that does not authenticate. Throws `invalid_client` for an unknown one. */
export async function identifyClient(ctx: Context, clientId: string): Promise<ClientRow> {
  const found = await ctx.services.clients.find(clientId);
  if (!found) throw invalidClient();
  return found;
}

/** Whether the secret of an application has expired. */
const isExpired = (client: KnownClient | undefined): boolean =>
  client?.secretExpiresAt != null && instantOf(client.secretExpiresAt) <= databaseTime();

/** Whether the secret was sent as the application registered it. Some applications registered no method. */
const isRegistered = (sent: AuthMethod | null | undefined, registered: AuthMethod | null | undefined): boolean =>
  sent == null || registered == null || sent === registered;

/** The failure of every attempt that does not authenticate (RFC 6749 §5.2). */
export const invalidClient = () => oauthFailure("invalid_client", "The application could not be authenticated.");

/** Throws `unauthorized_client` for a grant type that the application may not use (RFC 6749 §5.2). */
export function requireGrantType({ grantTypes }: ClientRow, grantType: GrantType): void {
  if (!grantTypes.includes(grantType))
    throw oauthFailure("unauthorized_client", `The application may not use the grant type ${grantType}.`);
}

/** Stores when an application and its secret were last used. The response does not wait for it. */
function noteUse({ services: { database, backgroundTasks } }: Context, client: KnownClient): void {
  client.isUseStale = false;
  backgroundTasks.run("last use of an application", async () => {
    await writeUse(database.db, "oauth2Clients", client.id);
    if (client.secretId !== null) await writeUse(database.db, "oauth2ClientSecrets", client.secretId);
  });
}

/** Skips a row that another request is writing: one of them is enough. */
const writeUse = (db: Db, table: "oauth2Clients" | "oauth2ClientSecrets", id: string) =>
  db
    .updateTable(table)
    .set({ lastUsedAt: now })
    .where("id", "=", (eb) =>
      eb.selectFrom(table).where("id", "=", id).where(isStale(table)).select("id").forNoKeyUpdate().skipLocked(),
    )
    .execute();
