import { randomBytes } from "node:crypto";
import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { auditedAs } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { after, anyOf, now, rowById } from "../kernel/queries.js";
import { check, duration, inputOf, type Input, optional, orEmpty, reference, required } from "../kernel/values.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { machineHint } from "../tokens/machines.js";
import { endJobsOf } from "./ended-jobs.js";
import { tagProblems, tagsValue } from "./tags.js";
import {
  daemonName,
  isReservedKey,
  newProvisionerKey,
  type ReservedKey,
  reservedKeys,
} from "./provisioner-key-tokens.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const k = columnsOf("provisionerKeys", "k");

const keys = (db: Db) =>
  db
    .selectFrom("provisionerKeys as k")
    .select(["k.id", "k.organizationId", "k.name", "k.tags", "k.createdAt", "k.rotatedAt", "k.lastUsedAt"])
    .select([
      "k.formerSecretUsedAt",
      // While it is valid.
      sql<string | null>`case when ${k.formerSecretEndsAt} > now() then ${k.formerSecretEndsAt} end`.as(
        "formerSecretEndsAt",
      ),
    ]);

/** The secret of a key before its last rotation, while it is valid. */
export interface FormerSecret {
  endsAt: string;
  /** Accurate to a minute; null if it was not used since daemons note it. */
  lastUsedAt: string | null;
}

export const formerSecretOf = ({ formerSecretEndsAt: endsAt, formerSecretUsedAt }: ProvisionerKeyRow) =>
  endsAt === null ? null : ({ endsAt, lastUsedAt: formerSecretUsedAt } satisfies FormerSecret);

/** A key of provisioner daemons, without its secret. */
export type ProvisionerKeyRow = InferResult<ReturnType<typeof keys>>[number];

const ownOrganization = required(reference, "The organization: ID, name, or `default`.");

/** A key, by its organization and name. */
export const KeyReference = inputOf({
  organization: ownOrganization,
  name: required(reference, "Name of the key, in any letter case."),
});
export type KeyReference = Input<typeof KeyReference>;

export const CreateProvisionerKey = inputOf({
  organization: ownOrganization,
  name: optional(
    orEmpty(daemonName),
    "Name, 1 to 64 letters, digits, dots, hyphens and underscores, a letter or digit at both ends. Default: `key-` and 8 hexadecimal digits.",
  ),
  tags: optional(tagsValue, "Tags of its daemons, values by key: at most 20, keys of 64 and values of 256 characters."),
});
export type CreateProvisionerKey = Input<typeof CreateProvisionerKey>;

/** Maximum number of keys of an organization. */
const mostKeys = 1000;

const keysOfOrganization = (ctx: Context, organizationId: string) =>
  keys(ctx.db).where("k.organizationId", "=", organizationId).orderBy("k.createdAt").orderBy("k.id").execute();

/** Lists the keys of an organization by creation, without reserved ones. */
export async function listProvisionerKeys(ctx: Context, ref: string): Promise<ProvisionerKeyRow[]> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:read", { organizationId });
  return keysOfOrganization(ctx, organizationId);
}

/** Lists the keys of an organization like `listProvisionerKeys`, followed by the reserved ones. */
export async function listKeysOfDaemons(ctx: Context, ref: string): Promise<ProvisionerKeyRow[]> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:read", { organizationId: organization.id });
  const stored = await keysOfOrganization(ctx, organization.id);
  return [...stored, ...Object.values(reservedKeys).map((key) => reservedRow(key, organization))];
}

/** A reserved key, which no row represents. It is as old as the organization. */
const reservedRow = (key: ReservedKey, organization: OrganizationRow): ProvisionerKeyRow => ({
  ...key,
  organizationId: organization.id,
  tags: {},
  createdAt: organization.createdAt,
  rotatedAt: null,
  lastUsedAt: null,
  formerSecretUsedAt: null,
  formerSecretEndsAt: null,
});

/** Batch read of keys by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function provisionerKeysByIds(
  ctx: Context,
  ids: readonly string[],
): Promise<Array<ProvisionerKeyRow | undefined>> {
  const rows = await keys(ctx.db).where("k.id", "=", anyOf(ids)).execute();
  return rowById(rows, ids);
}

const nameTaken = () => conflictOn("name", "Another key of the organization has this name.");

/** Creates a key. Returns its text, which cannot be read again. */
export async function createProvisionerKey(
  ctx: Context,
  { organization: ref, ...input }: CreateProvisionerKey,
): Promise<{ id: string; key: string }> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:create", { organizationId });
  requireFeature(ctx, "external_provisioner_daemons");
  // Names are the same in any letter case, and are stored in lower case.
  const name = input.name?.toLowerCase() || `key-${randomBytes(4).toString("hex")}`;
  const problems = new Problems();
  check(CreateProvisionerKey, input, problems);
  problems.add("name", isReservedKey(name) ? "This name is reserved." : undefined);
  const tags = tagProblems(input.tags ?? {}, problems, ["scope", "owner"]);
  problems.throwIfAny();

  const { count } = await ctx.db
    .selectFrom("provisionerKeys")
    .where("organizationId", "=", organizationId)
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  if (count >= mostKeys) throw conflict(`An organization can have at most ${mostKeys} provisioner keys.`);
  const { text, hash: secretHash } = newProvisionerKey();
  const id = newId();
  const { userId: creatorId } = requireUser(ctx.actor);
  await ctx.db
    .insertInto("provisionerKeys")
    .values({ id, organizationId, name, secretHash, tags, creatorId, createdAt: now })
    .execute()
    .catch(onViolation({ provisioner_keys_name_unique: nameTaken }));
  const audited = auditedAs("provisioner_key", id, name, organizationId);
  ctx.audit({ action: "create", ...audited, diff: { name: { new: name }, tags: { new: tags }, key: { new: "***" } } });
  return { id, key: text };
}

const noFormerSecret = { formerSecretHash: null, formerSecretEndsAt: null, formerSecretUsedAt: null };

/** Seconds: 30 days. */
const longestOverlap = 30 * 86_400;
const usualOverlap = 86_400;

export const RotateProvisionerKey = inputOf({
  ...KeyReference.shape,
  overlapSeconds: optional(
    duration(0, longestOverlap),
    "Seconds for which the present secret stays valid beside the new one. Default: 86400, a day.",
  ),
});
export type RotateProvisionerKey = Input<typeof RotateProvisionerKey>;

/**
 * Gives a key a new secret, and returns its text, which cannot be read again. The former one is valid for a time, in which
 * daemons can be restarted with the new one; then the sockets of the others are closed. Throws CONFLICT while the secret
 * before it is valid, BAD_USER_INPUT for reserved keys.
 */
export async function rotateProvisionerKey(
  ctx: Context,
  { overlapSeconds, ...ref }: RotateProvisionerKey,
): Promise<{ id: string; key: string }> {
  const organizationId = await organizationFor(ctx, ref, "provisioner_key:create");
  requireFeature(ctx, "external_provisioner_daemons");
  const problems = new Problems();
  problems.add("name", isReservedKey(ref.name) ? "Reserved keys have no secret." : undefined);
  const overlap = overlapSeconds ?? usualOverlap;
  check(RotateProvisionerKey, { overlapSeconds }, problems);
  problems.throwIfAny();
  const key = await lockKey(ctx, organizationId, ref.name);
  if (key.formerSecretEndsAt !== null)
    throw conflict(`The secret before the present one is valid until ${key.formerSecretEndsAt}. End it first.`);
  const { text, hash: secretHash } = newProvisionerKey();
  const { endsAt } = await ctx.db
    .updateTable("provisionerKeys")
    .set((eb) => ({
      secretHash,
      rotatedAt: now,
      lastUsedAt: null,
      ...(overlap === 0
        ? noFormerSecret
        : {
            formerSecretHash: eb.ref("secretHash"),
            formerSecretEndsAt: after(overlap * 1000),
            formerSecretUsedAt: eb.ref("lastUsedAt"),
          }),
    }))
    .where("id", "=", key.id)
    .returning("formerSecretEndsAt as endsAt")
    .executeTakeFirstOrThrow();
  const diff = { key: { old: "***", new: "***" }, formerSecretEndsAt: { new: endsAt } };
  ctx.audit({ action: "update", ...ofKey(key), diff });
  ctx.publish(machineHint(key.id));
  return { id: key.id, key: text };
}

/**
 * Ends the secret that a key had before its last rotation: the sockets of daemons that use it are closed. Has no effect
 * if it has ended. Returns the id of the key.
 */
export async function endFormerSecret(ctx: Context, ref: KeyReference): Promise<string> {
  const organizationId = await organizationFor(ctx, ref, "provisioner_key:delete");
  if (isReservedKey(ref.name)) throw badInput([{ field: "name", detail: "Reserved keys have no secret." }]);
  const key = await lockKey(ctx, organizationId, ref.name);
  if (key.formerSecretEndsAt === null) return key.id;
  await ctx.db.updateTable("provisionerKeys").set(noFormerSecret).where("id", "=", key.id).execute();
  const diff = { formerSecretEndsAt: { old: key.formerSecretEndsAt, new: null } };
  ctx.audit({ action: "update", ...ofKey(key), diff });
  ctx.publish(machineHint(key.id));
  return key.id;
}

async function organizationFor(
  ctx: Context,
  { organization: ref }: KeyReference,
  permission: "provisioner_key:create" | "provisioner_key:delete",
): Promise<string> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, permission, { organizationId });
  return organizationId;
}

async function lockKey({ db }: Context, organizationId: string, name: string): Promise<ProvisionerKeyRow> {
  const key = await keys(db)
    .where("k.organizationId", "=", organizationId)
    .where(sql<SqlBool>`lower(k.name) = lower(${name})`)
    .forUpdate()
    .executeTakeFirst();
  if (!key) throw notFound();
  return key;
}

const ofKey = ({ id, name, organizationId }: ProvisionerKeyRow) =>
  auditedAs("provisioner_key", id, name, organizationId);

/**
 * Deletes a key with its daemons: their sockets are closed, their jobs fail. Returns the key before the deletion. Throws
 * BAD_USER_INPUT for reserved keys.
 */
export async function deleteProvisionerKey(ctx: Context, ref: KeyReference): Promise<ProvisionerKeyRow> {
  const organizationId = await organizationFor(ctx, ref, "provisioner_key:delete");
  if (isReservedKey(ref.name)) throw badInput([{ field: "name", detail: "Reserved keys cannot be deleted." }]);
  const key = await lockKey(ctx, organizationId, ref.name);
  // No further jobs are assigned to them from here on, which would refer to them.
  const daemons = await ctx.db
    .selectFrom("provisionerDaemons")
    .where("keyId", "=", key.id)
    .select("id")
    .orderBy("id")
    .forUpdate()
    .execute();
  const daemonIds = daemons.map(({ id }) => id);
  await endJobsOf(ctx, organizationId, daemonIds, "The key of the provisioner daemon was deleted.");
  await ctx.db.deleteFrom("provisionerKeys").where("id", "=", key.id).execute();
  ctx.audit({
    action: "delete",
    ...ofKey(key),
    diff: { name: { old: key.name }, tags: { old: key.tags } },
  });
  ctx.publish(machineHint(key.id));
  return key;
}
