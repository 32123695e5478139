import { type InferResult, sql } from "kysely";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { notFound } from "../kernel/errors.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { hour } from "../../runtime/durations.js";
import { isUuid } from "../../runtime/text.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { longestUrl } from "../../entities/lengths.js";

const g = columnsOf("oauth2Grants", "g");

/** Maximum length of a `client_id` in bytes: an ID, or the URL of a metadata document. */
export const longestClientId = longestUrl;

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

/** The columns of a `ClientRow`. */
export const clientFields = [
  "oauth2Clients.id",
  "oauth2Clients.kind",
  "oauth2Clients.type",
  "oauth2Clients.name",
  "oauth2Clients.icon",
  "oauth2Clients.redirectUris",
  "oauth2Clients.pkceRequired",
  "oauth2Clients.scopeCeiling",
  "oauth2Clients.grantTypes",
  "oauth2Clients.authMethod",
  "oauth2Clients.serviceUserId",
  "oauth2Clients.defaultResource",
  "oauth2Clients.documentUrl",
  "oauth2Clients.metadata",
  "oauth2Clients.lastUsedAt",
  "oauth2Clients.createdById",
  "oauth2Clients.createdIp",
  "oauth2Clients.createdAt",
  "oauth2Clients.updatedAt",
  "oauth2Clients.isDisabled",
] as const;

/** Selects applications. */
export const clients = (db: Db) => db.selectFrom("oauth2Clients").select(clientFields);

/** An OAuth2 application. */
export type ClientRow = InferResult<ReturnType<typeof clients>>[number];

/** The column that has the `client_id` of an application: its id, or the URL of its metadata document. */
export const columnOf = (clientId: string) => (isUuid(clientId) ? "oauth2Clients.id" : "oauth2Clients.documentUrl");

/** The `client_id` of an application in the protocol. */
export const clientIdOf = ({ id, documentUrl }: Pick<ClientRow, "id" | "documentUrl">): string => documentUrl ?? id;

/** Finds a stored application by its `client_id`, disabled or not. Checks no permission. */
export const clientWithId = ({ db }: { db: Db }, clientId: string): Promise<ClientRow | undefined> =>
  clients(db).where(columnOf(clientId), "=", clientId).executeTakeFirst();

/** Batch read of applications by id, for `ctx.load`. Checks no permission: the object with the id does. */
export async function clientsById({ db }: { db: Db }, ids: readonly string[]): Promise<Array<ClientRow | Error>> {
  const rows = await clients(db).where("id", "=", anyOf(ids)).execute();
  return rowById(rows, ids).map((row) => row ?? notFound());
}

/**
 * Deletes applications that registered themselves, or have a metadata document, a week after that if they were never
 * used, and else 180 days after their last grant.
 */
export const unusedClientPurge = {
  name: "purge unused oauth2_clients",
  every: hour,
  async run({ database: { db } }: { database: Pick<Database, "db"> }): Promise<void> {
    for (;;) {
      const { numDeletedRows } = await db
        .deleteFrom("oauth2Clients")
        .where("id", "=", sql<string>`any(array(${unusedClients(db)}))`)
        .executeTakeFirst();
      if (numDeletedRows === 0n) return;
    }
  },
};

// An application without any use may still wait for its first consent; one that was used may be in use again. Documents
// can be fetched again, but whether an administrator disabled their application could not be known again.
const unusedClients = (db: Db) =>
  db
    .selectFrom("oauth2Clients as c")
    .where("c.kind", "<>", sql.lit("admin"))
    .where((eb) => eb.or([eb("c.kind", "<>", "document"), eb("c.isDisabled", "=", false)]))
    .where((eb) =>
      eb.or([
        eb("c.lastUsedAt", "<=", sql<string>`now() - interval '180 days'`),
        eb.and([eb("c.lastUsedAt", "is", null), eb("c.createdAt", "<=", sql<string>`now() - interval '7 days'`)]),
      ]),
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("oauth2Grants as g")
            .whereRef("g.clientId", "=", "c.id")
            .where(sql`coalesce(${g.revokedAt}, ${g.expiresAt})`, ">", sql`now() - interval '180 days'`)
            .select("g.id"),
        ),
      ),
    )
    .select("c.id")
    .limit(1000)
    .forUpdate("c")
    .skipLocked();
