import type { InferResult } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf, now, rowsByKey } from "../kernel/queries.js";
import { auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { lockApp } from "./apps.js";
import { revokeGrantsOfSecret } from "./grants.js";
import { newSecret, parseSecret } from "./secrets.js";
import { clientHint } from "../tokens/hints.js";
import { isSecretOf } from "../tokens/token-text.js";
import { dateTime, inputOf, optional, required, type Input, uuid } from "../kernel/values.js";

const fields = ["id", "clientId", "suffix", "createdAt", "lastUsedAt", "expiresAt"] as const;

const secrets = (db: Db) => db.selectFrom("oauth2ClientSecrets").select(fields);

/** A secret of an application, without its text. */
export type ClientSecretRow = InferResult<ReturnType<typeof secrets>>[number];

async function secretsByApp({ db }: Context, ids: readonly string[]): Promise<ClientSecretRow[][]> {
  const rows = await secrets(db).where("clientId", "=", anyOf(ids)).orderBy("createdAt").orderBy("id").execute();
  return rowsByKey(rows, ids, ({ clientId }) => clientId);
}

/** The secrets of an application, oldest first. */
export async function secretsOfApp(ctx: Context, { id }: { id: string }): Promise<ClientSecretRow[]> {
  authorize(ctx.actor, "oauth2_app_secret:read");
  return ctx.load(secretsByApp, id);
}

export const CreateClientSecret = inputOf({
  app: required(uuid, "ID of the application."),
  expiresAt: optional(dateTime, "When the secret expires. Default: never."),
});
export type CreateClientSecret = Input<typeof CreateClientSecret>;

/** Maximum number of secrets of an application that have not expired. */
const mostSecrets = 10;

/** Creates a secret of a confidential application. Returns its text, which is not readable later. */
export async function createClientSecret(
  ctx: Context,
  { app: appId, expiresAt }: CreateClientSecret,
): Promise<{ secret: ClientSecretRow; text: string }> {
  const app = await lockApp(ctx, appId, "oauth2_app_secret:create");
  if (app.type === "public")
    throw new DomainError("BAD_USER_INPUT", "A public application cannot keep a secret, and has none.");
  if (expiresAt != null && instantOf(expiresAt) <= databaseTime())
    throw badInput([{ field: "expiresAt", detail: "Must be in the future." }]);

  const issued = await issueSecret(ctx, app.id, expiresAt ?? null);
  if (!issued) throw conflict(`An application can have at most ${mostSecrets} secrets.`);
  const diff = { app: { new: app.id }, secret: { new: "***" }, ...(expiresAt && { expiresAt: { new: expiresAt } }) };
  ctx.audit({ action: "create", ...nameForAudit(issued.secret), diff });
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
  await ctx.db
    .deleteFrom("oauth2ClientSecrets")
    .where("clientId", "=", clientId)
    .where("expiresAt", "<=", now)
    .execute();
  // The lock on the application keeps the count constant until the commit.
  const { held } = await ctx.db
    .selectFrom("oauth2ClientSecrets")
    .where("clientId", "=", clientId)
    .select(({ fn }) => fn.countAll<number>().as("held"))
    .executeTakeFirstOrThrow();
  if (held >= mostSecrets) return undefined;
  const { id: key, text, secretHash } = newSecret("clientSecret");
  const secret = await ctx.db
    .insertInto("oauth2ClientSecrets")
    .values({
      id: newId(),
      clientId,
      key,
      secretHash,
      suffix: text.slice(-6),
      expiresAt,
      createdAt: now,
      updatedAt: now,
    })
    .returning(fields)
    .executeTakeFirstOrThrow();
  return { secret, text };
}

/** Whether a text is a secret of an application that has not expired. */
export async function hasSecret(ctx: Context, clientId: string, text: string): Promise<boolean> {
  const parsed = parseSecret("clientSecret", text);
  if (!parsed) return false;
  const found = await ctx.db
    .selectFrom("oauth2ClientSecrets")
    .where("clientId", "=", clientId)
    .where("key", "=", parsed.id)
    .where((eb) => eb.or([eb("expiresAt", "is", null), eb("expiresAt", ">", now)]))
    .select("secretHash")
    .executeTakeFirst();
  return found !== undefined && isSecretOf(found.secretHash, parsed.secret);
}

export const DeleteClientSecret = inputOf({
  app: required(uuid, "ID of the application."),
  id: required(uuid, "ID of the secret."),
});
export type DeleteClientSecret = Input<typeof DeleteClientSecret>;

/** Deletes a secret, and ends the grants whose latest tokens the application got with it. Returns the secret. */
export async function deleteClientSecret(
  ctx: Context,
  { app: appId, id }: { app: string; id: string },
): Promise<ClientSecretRow> {
  const app = await lockApp(ctx, appId, "oauth2_app_secret:delete");
  // Waits for redemptions with the secret, so that their grants are among those that end with it.
  const locking = secrets(ctx.db).where("id", "=", id).where("clientId", "=", app.id).forUpdate();
  const secret = await locking.executeTakeFirst();
  if (!secret) throw notFound();
  await revokeGrantsOfSecret(ctx, id);
  await ctx.db.deleteFrom("oauth2ClientSecrets").where("id", "=", id).execute();
  ctx.publish(clientHint(app.id));
  ctx.audit({ action: "delete", ...nameForAudit(secret), diff: { app: { old: app.id }, secret: { old: "***" } } });
  return secret;
}

/** Masks a secret except for its end, by which people recognize it. */
export const maskedSecret = ({ suffix }: ClientSecretRow): string => `****${suffix}`;

const nameForAudit = (secret: ClientSecretRow) => auditedAs("oauth2_app_secret", secret.id, maskedSecret(secret));
