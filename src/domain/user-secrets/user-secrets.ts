import { type InferResult, sql } from "kysely";
import { secretLengths, UserSecret } from "../../entities/user-secrets.js";
import { auditChangesOf, auditWith, auditedAs } from "../kernel/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { userSecretValues } from "../encryption/columns.js";
import { refuseForgottenKey } from "../encryption/encryption-keys.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, DomainError, notFound, Problems } from "../kernel/errors.js";
import { isEmpty, pickGiven } from "../kernel/changed-fields.js";
import { newId } from "../kernel/ids.js";
import {
  check,
  type Input,
  inputOf,
  optional,
  otherwise,
  prose,
  reference,
  required,
  string,
} from "../kernel/values.js";
import { findUser, type FoundUser, lockUser, userTarget } from "../users/users.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { secretFile, secretName, secretValue, secretVariable } from "./rules.js";

const userSecrets = columnsOf("userSecrets");

const columns = [
  "id",
  "name",
  "description",
  "envName",
  "filePath",
  "lastDeliveredAt",
  "createdAt",
  "updatedAt",
] as const;

const secretsOf = ({ db }: Context, userId: string) =>
  db.selectFrom("userSecrets").select(columns).where("userId", "=", userId);

/** A secret without its value, which is never returned. */
export type UserSecretRow = InferResult<ReturnType<typeof secretsOf>>[number];

/** A reference to a secret: its user (an id, a username, or `me`) and its exact name. */
export interface SecretReference {
  user: string;
  name: string;
}

/** Lists the secrets of a user by name in byte order, for that user only. */
export async function listUserSecrets(ctx: Context, ref: string): Promise<UserSecretRow[]> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user_secret:read", userTarget(user));
  return secretsOf(ctx, user.id)
    .orderBy(sql`name collate "C"`)
    .execute();
}

/** Reads a secret of the caller. */
export async function readUserSecret(ctx: Context, { user: ref, name }: SecretReference): Promise<UserSecretRow> {
  const user = owning(ctx, "user_secret:read", await findUser(ctx, ref));
  const secret = await secretsOf(ctx, user.id).where("name", "=", name).executeTakeFirst();
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

export const whose = "The user: ID, username, or `me`.";
const exactName = "Exact name of the secret.";
const variableRule =
  "Environment variable to set to the value: letters, digits, and underscores, except reserved names; empty for none.";
const fileRule =
  "File to write the value to: a path that begins with `~/` or `/`, and is not the file of another secret or a directory of its path; empty for none.";

export const CreateUserSecret = inputOf({
  user: otherwise(reference, "me", whose),
  name: required(secretName, "Name, unique among the user's secrets: {limits} without `/`, `?`, and `#`."),
  value: required(secretValue, "The value, {limits}, stored unchanged."),
  description: optional(prose(secretLengths.description), "Free text, {limits}. Default: empty."),
  envName: optional(secretVariable, `${variableRule} Default: empty.`),
  filePath: optional(secretFile, `${fileRule} Default: empty.`),
});
export type CreateUserSecret = Input<typeof CreateUserSecret>;

/** Stores a secret of the caller. Returns the stored row. */
export async function createUserSecret(
  ctx: Context,
  { user: ref, ...input }: CreateUserSecret,
): Promise<UserSecretRow> {
  const user = await lockUser(ctx, ref, "user_secret:create");
  authorize(ctx.actor, "user_secret:create", userTarget(user));
  const { value, ...fields } = {
    name: input.name,
    value: input.value,
    description: input.description ?? "",
    envName: input.envName ?? "",
    filePath: input.filePath ?? "",
  };
  requireValid({ value, ...fields });

  const id = newId();
  const valueBytes = Buffer.byteLength(value);
  await requireRoom(ctx, user.id, { id, ...fields, valueBytes });
  ctx.em.create(UserSecret, { id, user: user.id, ...fields, valueBytes, ...seal(ctx, user, id, value) });
  await ctx.em.flush().catch(refuseForgottenKey);
  return readStored(ctx, user, id);
}

/** Throws BAD_USER_INPUT with the faults of the given fields. */
function requireValid(fields: Partial<CreateUserSecret>): void {
  const problems = new Problems();
  check(CreateUserSecret, fields, problems);
  problems.throwIfAny();
}

export const UpdateUserSecret = inputOf({
  user: otherwise(reference, "me", whose),
  name: required(string, exactName),
  value: optional(secretValue, "The new value, {limits}, stored unchanged."),
  description: optional(prose(secretLengths.description), "Free text, {limits}."),
  envName: optional(secretVariable, variableRule),
  filePath: optional(secretFile, fileRule),
});
export type UpdateUserSecret = Input<typeof UpdateUserSecret>;

/** Changes the given fields of a secret of the caller. A given value counts as changed, even if it is the same. */
export async function updateUserSecret(ctx: Context, input: UpdateUserSecret): Promise<UserSecretRow> {
  const isMe = input.user === "me" || input.user === userIdOf(ctx.actor);
  const ref = isMe ? "me" : owning(ctx, "user_secret:update", await findUser(ctx, input.user)).id;
  const user = await lockUser(ctx, ref, "user_secret:update");
  const secret = await secretsOf(ctx, user.id)
    .select("valueBytes")
    .where("name", "=", input.name)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!secret) throw notFound();
  const { value, ...change } = givenOf(input);
  requireValid({ value, ...change });

  const set = {
    ...change,
    ...(value !== undefined && { valueBytes: Buffer.byteLength(value), ...seal(ctx, user, secret.id, value) }),
  };
  await requireRoom(ctx, user.id, { ...secret, ...set }, secret);
  const stored = await ctx.em.findOneOrFail(UserSecret, secret.id);
  ctx.em.assign(stored, set);
  auditWith(stored, { userId: { old: user.id, new: user.id } });
  await ctx.em.flush().catch(refuseForgottenKey);
  return readStored(ctx, user, secret.id);
}

/** The fields to change; null means absent. Throws BAD_USER_INPUT if there are none. */
function givenOf({ value, description, envName, filePath }: UpdateUserSecret) {
  const fields = pickGiven({ value, description, envName, filePath });
  if (isEmpty(fields)) throw new DomainError("BAD_USER_INPUT", "At least one field must be provided.");
  return fields;
}

export const DeleteUserSecret = inputOf({
  user: otherwise(reference, "me", whose),
  name: required(string, exactName),
});
export type DeleteUserSecret = Input<typeof DeleteUserSecret>;

/** Deletes a secret of the caller. Returns the deleted row. */
export async function deleteUserSecret(ctx: Context, { user: ref, name }: SecretReference): Promise<UserSecretRow> {
  const user = owning(ctx, "user_secret:delete", await findUser(ctx, ref));
  const secret = await secretsOf(ctx, user.id).where("name", "=", name).forUpdate().executeTakeFirst();
  if (!secret) throw notFound();
  ctx.em.remove(await ctx.em.findOneOrFail(UserSecret, secret.id));
  await ctx.em.flush();
  return secret;
}

const readStored = (ctx: Context, user: FoundUser, id: string): Promise<UserSecretRow> =>
  secretsOf(ctx, user.id).where("id", "=", id).executeTakeFirstOrThrow();

/** The properties that hold an encrypted value. */
function seal({ services }: Context, { id: ownerId }: FoundUser, id: string, value: string) {
  const { keyId: key, nonce, ciphertext } = services.vault.seal(userSecretValues.place({ id, ownerId }), value);
  return { key, valueNonce: nonce, valueCiphertext: ciphertext };
}

// Events name the user and the written fields, but hold none of their values.
auditChangesOf(UserSecret, {
  resource: ({ id }) => auditedAs("user_secret", id, id),
  fields: ["user"],
  names: { user: "userId" },
  secrets: {
    name: "name",
    value: "valueCiphertext",
    description: "description",
    envName: "envName",
    filePath: "filePath",
  },
});

/** The storage that a user's secrets use. Bytes are those of plain values. */
interface Used {
  count: number;
  valueBytes: number;
  /** Bytes of the values that become environment variables. */
  envBytes: number;
}

export interface UserSecretUsage extends Used {
  maxCount: number;
  maxValueBytes: number;
  maxEnvBytes: number;
}

const usage = ({ db }: Context, userId: string) =>
  db
    .selectFrom("userSecrets")
    .where("userId", "=", userId)
    .select(({ fn }) => [
      fn.countAll<number>().as("count"),
      fn.coalesce(fn.sum<number>("valueBytes"), sql.lit(0)).as("valueBytes"),
      fn.coalesce(fn.sum<number>("valueBytes").filterWhere("envName", "<>", ""), sql.lit(0)).as("envBytes"),
    ]);

/** Reads the usage and limits of a user, for that user only. */
export async function readUserSecretUsage(ctx: Context, ref: string): Promise<UserSecretUsage> {
  const user = await findUser(ctx, ref);
  authorize(ctx.actor, "user_secret:read", userTarget(user));
  const { userSecretsMaxCount, userSecretsMaxTotalBytes, userSecretsMaxEnvBytes } = ctx.config;
  return {
    ...(await usage(ctx, user.id).executeTakeFirstOrThrow()),
    maxCount: userSecretsMaxCount,
    maxValueBytes: userSecretsMaxTotalBytes,
    maxEnvBytes: userSecretsMaxEnvBytes,
  };
}

/** The properties of a secret that are unique per user, and its size. */
interface Occupied {
  id: string;
  name: string;
  envName: string;
  filePath: string;
  valueBytes: number;
}

const nestedPath = "The file of another secret is above or below this path, and a file cannot be a directory as well.";

/**
 * Throws if a new secret, or a changed one that was `before`, exceeds the user's limits or takes a unique field of
 * another secret. The caller has locked the user, so that the result holds until the commit.
 */
async function requireRoom(ctx: Context, userId: string, secret: Occupied, before?: Occupied): Promise<void> {
  const { id, name, envName, filePath } = secret;
  const others = await usage(ctx, userId)
    .where("id", "<>", id)
    .select([
      sql<boolean | null>`bool_or(name = ${name})`.as("name"),
      sql<boolean | null>`bool_or(${userSecrets.envName} = ${envName} and ${userSecrets.envName} <> '')`.as("envName"),
      sql<boolean | null>`bool_or(${userSecrets.filePath} = ${filePath} and ${userSecrets.filePath} <> '')`.as(
        "filePath",
      ),
      // A file cannot be a directory as well: `~/.cfg` and `~/.cfg/token`.
      sql<boolean | null>`bool_or(${userSecrets.filePath} <> '' and ${filePath} <> ''
        and (starts_with(${userSecrets.filePath}, ${`${filePath}/`}) or starts_with(${filePath}, ${userSecrets.filePath} || '/')))`.as(
        "isNested",
      ),
    ])
    .executeTakeFirstOrThrow();
  const conflicts = (["name", "envName", "filePath"] as const).flatMap((field) => {
    if (others[field]) return [{ field, detail: "Is in use by another secret." }];
    return field === "filePath" && others.isNested ? [{ field, detail: nestedPath }] : [];
  });
  if (conflicts.length > 0) throw conflict("Validation failed.", conflicts);
  rejectExcess(ctx, others, secret, before);
}

/** Rejects growth beyond a limit. Limits may be below current usage. */
function rejectExcess({ config }: Context, others: Used, after: Occupied, before?: Occupied): void {
  const added = usageOf(after);
  const former = usageOf(before);
  const exceeds = (part: keyof Used, most: number) => added[part] > former[part] && others[part] + added[part] > most;
  const { userSecretsMaxCount: most, userSecretsMaxTotalBytes: bytes, userSecretsMaxEnvBytes: envBytes } = config;
  const problems = new Problems();
  if (exceeds("count", most)) problems.add("name", `A user can have at most ${most} secrets.`);
  if (exceeds("valueBytes", bytes)) problems.add("value", `All values of a user can have at most ${bytes} bytes.`);
  if (exceeds("envBytes", envBytes))
    problems.add("envName", `All values of a user in environment variables can have at most ${envBytes} bytes.`);
  problems.throwIfAny();
}

/** The usage of a single secret. */
const usageOf = (secret: Occupied | undefined): Used => ({
  count: secret ? 1 : 0,
  valueBytes: secret?.valueBytes ?? 0,
  envBytes: secret?.envName ? secret.valueBytes : 0,
});
