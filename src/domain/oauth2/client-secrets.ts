import { databaseTime } from "../../clock.js";
import { rowsByKey } from "../kernel/batches.js";
import { OAuth2ClientSecret } from "../../entities/oauth2.js";
import { auditedAs } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { lookup, statement } from "../kernel/database.js";
import { badInput, conflict, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { lockApp } from "./apps.js";
import { revokeGrantsOfSecret } from "./grants.js";
import { newSecret, parseSecret } from "./secrets.js";
import { clientHint } from "../tokens/credentials.js";
import { isSecretOf } from "../tokens/text.js";

const columns = columnsOf(OAuth2ClientSecret, "s", [
  "id",
  "clientId",
  "suffix",
  "createdAt",
  "lastUsedAt",
  "expiresAt",
]);

/** A secret of an application, without its text. */
export type ClientSecretRow = RowOf<typeof columns>;

const byClients = lookup<ClientSecretRow>(`
  select ${columns} from oauth2_client_secrets s where s.client_id = any($1::uuid[]) order by s.created_at, s.id`);

async function secretsByApp(ctx: Context, ids: readonly string[]): Promise<ClientSecretRow[][]> {
  return rowsByKey(await ctx.rows(byClients, ids), ids, ({ clientId }) => clientId);
}

/** The secrets of an application, oldest first. */
export async function secretsOfApp(ctx: Context, { id }: { id: string }): Promise<ClientSecretRow[]> {
  authorize(ctx.actor, "oauth2_app_secret:read");
  return ctx.load(secretsByApp, id);
}

export interface CreateClientSecret {
  app: string;
  /** By default, never. */
  expiresAt?: string | null;
}

/** Maximum number of secrets of an application that have not expired. */
const mostSecrets = 10;

// The lock on the application keeps the count constant until the commit.
const insertSecret = statement<ClientSecretRow>(`
  with expired as (delete from oauth2_client_secrets where client_id = $2 and expires_at <= now())
  insert into oauth2_client_secrets as s (id, client_id, key, secret_hash, suffix, expires_at, created_at, updated_at)
  select $1, $2, $3, $4, $5, $6, now(), now() where ${mostSecrets} > (
    select count(*) from oauth2_client_secrets where client_id = $2 and (expires_at is null or expires_at > now()))
  returning ${columns}`);

/** Creates a secret of a confidential application. Returns its text, which is not readable later. */
export async function createClientSecret(
  ctx: Context,
  { app: appId, expiresAt }: CreateClientSecret,
): Promise<{ secret: ClientSecretRow; text: string }> {
  const app = await lockApp(ctx, appId, "oauth2_app_secret:create");
  if (app.type === "public")
    throw new DomainError("BAD_USER_INPUT", "A public application cannot keep a secret, and has none.");
  if (expiresAt != null && Date.parse(expiresAt) <= databaseTime())
    throw badInput([{ field: "expiresAt", detail: "Must be in the future." }]);

  const issued = await issueSecret(ctx, app.id, expiresAt ?? null);
  if (!issued) throw conflict(`An application can have at most ${mostSecrets} secrets.`);
  const diff = { app: { new: app.id }, secret: { new: "***" }, ...(expiresAt && { expiresAt: { new: expiresAt } }) };
  ctx.audit({ action: "create", ...identified(issued.secret), diff });
  return issued;
}

/**
 * Stores a new secret of an application that the transaction has locked or created. Returns it with its text, which is
 * not readable later; `undefined` if the application has too many.
 */
export async function issueSecret(
  ctx: Context,
  clientId: string,
  expiresAt: string | null = null,
): Promise<{ secret: ClientSecretRow; text: string } | undefined> {
  const { id: key, text, secretHash } = newSecret("clientSecret");
  const secret = await ctx.row(insertSecret, newId(), clientId, key, secretHash, text.slice(-6), expiresAt);
  return secret && { secret, text };
}

const liveSecret = statement<{ secretHash: Buffer }>(`
  select secret_hash as "secretHash" from oauth2_client_secrets
  where client_id = $1 and key = $2 and (expires_at is null or expires_at > now())`);

/** Whether a text is a secret of an application that has not expired. */
export async function hasSecret(ctx: Context, clientId: string, text: string): Promise<boolean> {
  const parsed = parseSecret("clientSecret", text);
  const found = parsed && (await ctx.row(liveSecret, clientId, parsed.id));
  return found !== undefined && isSecretOf(found.secretHash, parsed!.secret);
}

// Waits for redemptions with the secret, so that their grants are among those that end with it.
const lockSecret = statement<ClientSecretRow>(`
  select ${columns} from oauth2_client_secrets s where s.id = $1 and s.client_id = $2 for update`);

const deleteSecret = statement(`delete from oauth2_client_secrets where id = $1`);

/** Deletes a secret, and ends the grants whose latest tokens the application got with it. Returns the secret. */
export async function deleteClientSecret(
  ctx: Context,
  { app: appId, id }: { app: string; id: string },
): Promise<ClientSecretRow> {
  const app = await lockApp(ctx, appId, "oauth2_app_secret:delete");
  const secret = await ctx.row(lockSecret, id, app.id);
  if (!secret) throw notFound();
  await revokeGrantsOfSecret(ctx, id);
  await ctx.rows(deleteSecret, id);
  ctx.publish(clientHint(app.id));
  ctx.audit({ action: "delete", ...identified(secret), diff: { app: { old: app.id }, secret: { old: "***" } } });
  return secret;
}

/** Masks a secret except for its end, by which people recognize it. */
export const maskedSecret = ({ suffix }: ClientSecretRow): string => `****${suffix}`;

const identified = (secret: ClientSecretRow) => auditedAs("oauth2_app_secret", secret.id, maskedSecret(secret));
