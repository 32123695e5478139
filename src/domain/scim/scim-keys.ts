import type { InferResult } from "kysely";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { ScimKey } from "../../entities/scim.js";
import { auditChangesOf, auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { requireFeature } from "../entitlements/requirements.js";
import { conflict, notFound, Problems } from "../kernel/errors.js";
import { anyOf, rowById } from "../kernel/queries.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import type { Page, PageArguments } from "../kernel/paging.js";
import { pickGiven } from "../kernel/changed-fields.js";
import { defineList, time } from "../kernel/lists.js";
import { organizationsById } from "../organizations/organizations.js";
import {
  check,
  dateTime,
  further,
  inputOf,
  type Input,
  label,
  matching,
  meant,
  optional,
  reference,
  required,
  someOf,
  uuid,
} from "../kernel/values.js";
import { machineHint } from "../tokens/machines.js";
import { newScimKey } from "./scim-key-tokens.js";
import { longestLabel } from "../../entities/lengths.js";

const scimKeys = ({ db }: Context) =>
  db
    .selectFrom("scimKeys as k")
    .select([
      "k.id",
      "k.name",
      "k.source",
      "k.organizationIds",
      "k.createdBy",
      "k.createdAt",
      "k.expiresAt",
      "k.lastUsedAt",
      "k.lastUsedIp",
    ]);

/** A key of an identity provider, without its secret. */
export type ScimKeyRow = InferResult<ReturnType<typeof scimKeys>>[number];

const keyName = meant(
  further(label(longestLabel), (text) => (text === "" ? "Is required." : undefined)),
  { limits: "1 to 64 characters" },
);

const keySource = matching(/^[A-Za-z0-9_.-]{1,64}$/, "Must be 1 to 64 letters, digits, dots, hyphens and underscores.");

/** Maximum number of organizations of a key. */
const mostOrganizations = 100;

const managed = meant(someOf(mostOrganizations, uuid, `Must name 1 to ${mostOrganizations} organizations.`), {
  limits: `at most ${mostOrganizations}`,
});

export const CreateScimKey = inputOf({
  name: required(keyName, "Name, {limits}."),
  source: optional(
    keySource,
    "Label of the identity provider, 1 to 64 letters, digits, dots, hyphens and underscores. Default: `default`.",
  ),
  organizationIds: optional(
    managed,
    "IDs of the organizations whose groups the key manages, {limits}. New users join all of them, new groups are in the first. Default: the default organization.",
  ),
  expiresAt: optional(dateTime, "When the key expires. Default: never."),
});
export type CreateScimKey = Input<typeof CreateScimKey>;

export const UpdateScimKey = inputOf({
  id: required(reference, "ID of the key."),
  name: optional(keyName, "New name, {limits}."),
  expiresAt: optional(dateTime, "New expiry, in the future."),
});
export type UpdateScimKey = Input<typeof UpdateScimKey>;

/** The source of keys that name none, and of users who provision with their own credential. */
export const defaultSource = "default";

/** Maximum number of keys, expired ones included. */
const mostKeys = 100;

/** Whether a text has the form of the id of a key. */
export const isScimKeyId = (text: string): boolean => /^[0-9A-Za-z]{10}$/.test(text);

const scimKeyList = defineList(scimKeys, {
  id: { column: "k.id", of: ({ id }) => id, isId: isScimKeyId },
  orders: { createdAt: { createdAt: time("k.createdAt") } },
  filters: {},
});

/** Lists all keys, oldest first. */
export async function listScimKeys(ctx: Context, page: PageArguments): Promise<Page<ScimKeyRow>> {
  authorize(ctx.actor, "scim_key:read");
  return scimKeyList.page(ctx, { page }, new Problems());
}

/** Batch read of keys by id, for `ctx.load`. Checks no permission: the object with the id does. */
export async function scimKeysByIds(ctx: Context, ids: readonly string[]): Promise<Array<ScimKeyRow | Error>> {
  const found = await scimKeys(ctx).where("k.id", "=", anyOf(ids, "text")).execute();
  return rowById(found, ids).map((row) => row ?? notFound());
}

/** The organizations of a key that still exist. */
export async function organizationsOfKey(ctx: Context, { organizationIds }: ScimKeyRow) {
  const found = await Promise.all(organizationIds.map((id) => ctx.load(organizationsById, id)));
  return found.filter((organization) => organization !== undefined);
}

/** Creates a key. Returns its text, which cannot be read again. */
export async function createScimKey(ctx: Context, input: CreateScimKey): Promise<{ id: string; secret: string }> {
  authorize(ctx.actor, "scim_key:create");
  requireFeature(ctx, "scim");
  const { name, expiresAt = null } = input;
  const source = input.source ?? defaultSource;
  const organizationIds = input.organizationIds && [...new Set(input.organizationIds)];
  const problems = new Problems();
  check(CreateScimKey, input, problems);
  problems.add("expiresAt", endProblem(expiresAt));
  problems.throwIfAny();

  await takeTurn(ctx, "scim_keys");
  const organizations = await ctx.db
    .selectFrom("organizations")
    .select("id")
    .where("deletedAt", "is", null)
    .where((eb) => (organizationIds ? eb("id", "=", anyOf(organizationIds)) : eb("isDefault", "=", true)))
    .execute();
  const found = organizations.map((organization) => organization.id);
  for (const [index, each] of (input.organizationIds ?? []).entries())
    if (!found.includes(each)) problems.add(`organizationIds[${index}]`, "Must be the id of an organization.");
  problems.throwIfAny();
  const { held } = await ctx.db
    .selectFrom("scimKeys")
    .select(({ fn }) => fn.countAll<number>().as("held"))
    .executeTakeFirstOrThrow();
  if (held >= mostKeys) throw conflict(`There can be at most ${mostKeys} SCIM keys.`);
  const { id, text, hash } = newScimKey();
  ctx.em.create(ScimKey, {
    id,
    name,
    source,
    organizationIds: organizationIds ?? found,
    expiresAt: expiresAt && new Date(expiresAt),
    tokenHash: hash,
    createdBy: userIdOf(ctx.actor) ?? null,
    createdAt: new Date(databaseTime()),
  });
  await ctx.em.flush();
  return { id, secret: text };
}

const endProblem = (expiresAt: string | null): string | undefined =>
  expiresAt !== null && instantOf(expiresAt) <= databaseTime() ? "Must be in the future." : undefined;

async function lockKey(ctx: Context, id: string): Promise<ScimKeyRow> {
  const key = await scimKeys(ctx).where("k.id", "=", id).forUpdate().executeTakeFirst();
  if (!key) throw notFound();
  return key;
}

/** Changes the name or the expiry of a key. Returns its id. */
export async function updateScimKey(ctx: Context, { id, name, expiresAt = null }: UpdateScimKey): Promise<string> {
  authorize(ctx.actor, "scim_key:create");
  await lockKey(ctx, id);
  const problems = new Problems();
  check(UpdateScimKey, { name }, problems);
  problems.add("expiresAt", endProblem(expiresAt));
  problems.throwIfAny();

  const stored = await ctx.em.findOneOrFail(ScimKey, id);
  ctx.em.assign(stored, pickGiven({ name, expiresAt: expiresAt && new Date(expiresAt) }));
  await ctx.em.flush();
  ctx.publish(machineHint(id));
  return id;
}

export const RevokeScimKey = inputOf({
  id: required(reference, "ID of the key."),
});
export type RevokeScimKey = Input<typeof RevokeScimKey>;

/** Ends a key, on every replica within a second. What it provisioned stays. Returns the key before the deletion. */
export async function revokeScimKey(ctx: Context, id: string): Promise<ScimKeyRow> {
  authorize(ctx.actor, "scim_key:delete");
  const key = await lockKey(ctx, id);
  ctx.em.remove(await ctx.em.findOneOrFail(ScimKey, id));
  await ctx.em.flush();
  ctx.publish(machineHint(id));
  return key;
}

auditChangesOf(ScimKey, {
  resource: ({ id }, before) => auditedAs("scim_key", id, before("name")),
  fields: ["name", "source", "organizationIds", "expiresAt"],
  deletion: { action: "revoke", fields: ["source"] },
});
