import { UserSecret } from "../../entities/user-secrets.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { type AuditAction, auditedAs, type Diff } from "../audit/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import { statement } from "../kernel/database.js";
import { userSecretValues } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/keys.js";
import { DomainError, notFound } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import type { Sealed } from "../outside/vault.js";
import { type SecretFields, secretProblems } from "./rules.js";
import { type Occupied, requireRoom } from "./usage.js";
import { findUser, type FoundUser, lockUser, userTarget } from "../users/users.js";

const columns = columnsOf(UserSecret, "user_secrets", [
  "id",
  "name",
  "description",
  "envName",
  "filePath",
  "lastDeliveredAt",
  "createdAt",
  "updatedAt",
]);

/** A secret without its value, which is never returned. */
export type UserSecretRow = RowOf<typeof columns>;

/** A reference to a secret: its user (an id, a username, or `me`) and its exact name. */
export interface SecretReference {
  user: string;
  name: string;
}

export type CreateUserSecret = SecretFields & Pick<SecretReference, "user">;
export type UpdateUserSecret = Omit<SecretFields, "name"> & SecretReference;

const secretsOfUser = statement<UserSecretRow>(
  `select ${columns} from user_secrets where user_id = $1 order by name collate "C"`,
);

/** Lists the secrets of a user by name in byte order, for that user only. */
export async function listUserSecrets(ctx: Context, ref: string): Promise<UserSecretRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user_secret:read", userTarget(user));
  return ctx.rows(secretsOfUser, user.id);
}

const secretByName = statement<UserSecretRow>(`select ${columns} from user_secrets where user_id = $1 and name = $2`);

/** Reads a secret of the caller. */
export async function readUserSecret(ctx: Context, { user: ref, name }: SecretReference): Promise<UserSecretRow> {
  const user = owning(ctx, "user_secret:read", await findUser(ctx, ref));
  const secret = await ctx.row(secretByName, user.id, name);
  if (!secret) throw notFound();
  return secret;
}

/** Throws NOT_FOUND for all callers but the user: to them, the secrets do not exist. */
function owning(
  ctx: Context,
  permission: "user_secret:read" | "user_secret:update" | "user_secret:delete",
  user: FoundUser,
): FoundUser {
  if (!sees(ctx.actor, permission, userTarget(user))) throw notFound();
  return user;
}

const insertSecret = statement<UserSecretRow>(`
  insert into user_secrets (id, user_id, name, description, env_name, file_path, value_bytes,
    key_id, value_nonce, value_ciphertext, created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, now(), now())
  returning ${columns}`);

/** Stores a secret of the caller. Returns the stored row. */
export async function createUserSecret(
  ctx: Context,
  { user: ref, ...input }: CreateUserSecret,
): Promise<UserSecretRow> {
  const user = await lockUser(ctx, ref, "user_secret:create");
  authorize(ctx.actor, "user_secret:create", userTarget(user));
  const fields = {
    name: input.name ?? "",
    value: input.value ?? "",
    description: input.description ?? "",
    envName: input.envName ?? "",
    filePath: input.filePath ?? "",
  };
  secretProblems(fields).throwIfAny();

  const id = newId();
  const { name, value, description, envName, filePath } = fields;
  const valueBytes = Buffer.byteLength(value);
  await requireRoom(ctx, user.id, { id, name, envName, filePath, valueBytes });
  const { keyId, nonce, ciphertext } = seal(ctx, user, id, value);
  const values = [id, user.id, name, description, envName, filePath, valueBytes, keyId, nonce, ciphertext];
  const secret = await ctx.row(insertSecret, ...values).catch(refuseForgottenKey);
  ctx.audit(recorded("create", user, id, filled(fields), "new"));
  return secret!;
}

const lockSecret = statement<UserSecretRow & Occupied>(`
  select ${columns}, value_bytes as "valueBytes" from user_secrets where user_id = $1 and name = $2 for update`);

const changeSecret = statement<UserSecretRow>(`
  update user_secrets set description = $2, env_name = $3, file_path = $4, value_bytes = $5,
    key_id = coalesce($6, key_id), value_nonce = coalesce($7, value_nonce),
    value_ciphertext = coalesce($8, value_ciphertext), updated_at = now()
  where id = $1
  returning ${columns}`);

/** Changes the given fields of a secret of the caller. A given value counts as changed, even if it is the same. */
export async function updateUserSecret(ctx: Context, input: UpdateUserSecret): Promise<UserSecretRow> {
  const isMe = input.user === "me" || input.user === userIdOf(ctx.actor);
  const ref = isMe ? "me" : owning(ctx, "user_secret:update", await findUser(ctx, input.user)).id;
  const user = await lockUser(ctx, ref, "user_secret:update");
  const secret = await ctx.row(lockSecret, user.id, input.name);
  if (!secret) throw notFound();
  const { value, ...change } = givenOf(input);
  secretProblems({ value, ...change }).throwIfAny();

  const after = { ...secret, ...change, ...(value !== undefined && { valueBytes: Buffer.byteLength(value) }) };
  const changed = changeable.filter((field) => after[field] !== secret[field]);
  const fields = [...changed, ...(value === undefined ? [] : ["value"])];
  if (fields.length === 0) return secret;
  await requireRoom(ctx, user.id, after, secret);
  const { keyId, nonce, ciphertext }: Partial<Sealed> = value === undefined ? {} : seal(ctx, user, secret.id, value);
  const { id, description, envName, filePath, valueBytes } = after;
  const values = [id, description, envName, filePath, valueBytes, keyId, nonce, ciphertext];
  const written = await ctx.row(changeSecret, ...values).catch(refuseForgottenKey);
  ctx.audit(recorded("update", user, id, fields, "old", "new"));
  return written!;
}

const changeable = ["description", "envName", "filePath"] as const;

/** The fields to change; null means absent. Throws BAD_USER_INPUT if there are none. */
function givenOf({ value, description, envName, filePath }: UpdateUserSecret) {
  const entries = Object.entries({ value, description, envName, filePath }).filter(([, given]) => given != null);
  if (entries.length === 0) throw new DomainError("BAD_USER_INPUT", "At least one field must be provided.");
  return Object.fromEntries(entries) as { [Field in "value" | (typeof changeable)[number]]?: string };
}

const deleteSecret = statement<UserSecretRow>(
  `delete from user_secrets where user_id = $1 and name = $2 returning ${columns}`,
);

/** Deletes a secret of the caller. Returns the deleted row. */
export async function deleteUserSecret(ctx: Context, { user: ref, name }: SecretReference): Promise<UserSecretRow> {
  const user = owning(ctx, "user_secret:delete", await findUser(ctx, ref));
  const secret = await ctx.row(deleteSecret, user.id, name);
  if (!secret) throw notFound();
  ctx.audit(recorded("delete", user, secret.id, ["value", ...filled(secret)], "old"));
  return secret;
}

const seal = ({ services }: Context, { id: ownerId }: FoundUser, id: string, value: string): Sealed =>
  services.vault.seal(userSecretValues.place({ id, ownerId }), value);

/** The fields of a secret that are not empty. */
const filled = (secret: SecretFields) =>
  (["name", "value", "description", "envName", "filePath"] as const).filter((field) => secret[field]);

/** The audit entry of a change: it names the user and the written fields, but holds none of their values. */
function recorded(action: AuditAction, user: FoundUser, id: string, fields: string[], ...sides: Array<"old" | "new">) {
  const each = (content: string) => Object.fromEntries(sides.map((side) => [side, content]));
  const diff: Diff = { userId: each(user.id), ...Object.fromEntries(fields.map((field) => [field, each("***")])) };
  return { action, ...auditedAs("user_secret", id, id), diff };
}
