import { randomBytes } from "node:crypto";
import { ProvisionerKey } from "../../entities/provisioners.js";
import { auditedAs } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { requireUser } from "../kernel/actor.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { badInput, conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { findOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { machineHint } from "../tokens/machines.js";
import { daemonNameProblem, isReservedKey, type ReservedKey, reservedKeys } from "./names.js";
import { endJobsOf } from "./ends.js";
import { tagProblems } from "./tags.js";
import { newProvisionerKey } from "./tokens.js";

const columns = columnsOf(ProvisionerKey, "k", ["id", "organizationId", "name", "tags", "createdAt"]);

/** A key of provisioner daemons, without its secret. */
export type ProvisionerKeyRow = RowOf<typeof columns>;

export interface CreateProvisionerKey {
  /** An id, a name, or `default`. */
  organization: string;
  name?: string | null;
  tags?: Record<string, unknown> | null;
}

/** Maximum number of keys of an organization. */
const mostKeys = 1000;

const keysOfOrganization = statement<ProvisionerKeyRow>(
  `select ${columns} from provisioner_keys k where k.organization_id = $1 order by k.created_at, k.id`,
);

/** Lists the keys of an organization by creation, without reserved ones. */
export async function listProvisionerKeys(ctx: Context, ref: string): Promise<ProvisionerKeyRow[]> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:read", { organizationId });
  return ctx.rows(keysOfOrganization, organizationId);
}

/** Lists the keys of an organization like `listProvisionerKeys`, followed by the reserved ones. */
export async function listKeysOfDaemons(ctx: Context, ref: string): Promise<ProvisionerKeyRow[]> {
  const organization = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:read", { organizationId: organization.id });
  const keys = await ctx.rows(keysOfOrganization, organization.id);
  return [...keys, ...Object.values(reservedKeys).map((key) => reservedRow(key, organization))];
}

/** A reserved key, which no row represents. It is as old as the organization. */
const reservedRow = (key: ReservedKey, organization: OrganizationRow): ProvisionerKeyRow => ({
  ...key,
  organizationId: organization.id,
  tags: {},
  createdAt: organization.createdAt,
});

const keysOfIds = statement<ProvisionerKeyRow>(
  `select ${columns} from provisioner_keys k where k.id = any($1::uuid[])`,
);

/** Batch read of keys by id, for `ctx.load`. Checks no permission: the object that has the id does. */
export async function provisionerKeysByIds(
  ctx: Context,
  ids: readonly string[],
): Promise<Array<ProvisionerKeyRow | undefined>> {
  const keys = new Map((await ctx.rows(keysOfIds, ids)).map((key) => [key.id, key]));
  return ids.map((id) => keys.get(id));
}

const insertKey = statement<{ id: string }>(`
  insert into provisioner_keys (id, organization_id, name, secret_hash, tags, creator_id, created_at)
  select $1, $2, $3, $4, $5, $6, now()
  where (select count(*) from provisioner_keys where organization_id = $2) < ${mostKeys}
  returning id`);

const nameTaken = () => conflictOn("name", "Another key of the organization has this name.");

/** Creates a key. Returns its text, which cannot be read again. */
export async function createProvisionerKey(
  ctx: Context,
  { organization: ref, ...input }: CreateProvisionerKey,
): Promise<{ id: string; key: string }> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:create", { organizationId });
  requireFeature(ctx, "external_provisioner_daemons");
  const name = input.name || `key-${randomBytes(4).toString("hex")}`;
  const problems = new Problems();
  problems.add("name", isReservedKey(name) ? "This name is reserved." : daemonNameProblem(name));
  const tags = tagProblems(input.tags ?? {}, problems, ["scope", "owner"]);
  problems.throwIfAny();

  const { text, hash } = newProvisionerKey();
  const { userId } = requireUser(ctx.actor);
  const created = await ctx
    .row(insertKey, newId(), organizationId, name, hash, tags, userId)
    .catch(onViolation({ provisioner_keys_name_unique: nameTaken }));
  if (!created) throw conflict(`An organization can have at most ${mostKeys} provisioner keys.`);
  const audited = auditedAs("provisioner_key", created.id, name, organizationId);
  ctx.audit({ action: "create", ...audited, diff: { name: { new: name }, tags: { new: tags }, key: { new: "***" } } });
  return { id: created.id, key: text };
}

// Locks the daemons, which prevents that they are assigned further jobs.
const lockKey = statement<ProvisionerKeyRow & { daemonIds: string[] }>(`
  with key as materialized (
    select k.id from provisioner_keys k where k.organization_id = $1 and lower(k.name) = lower($2) for update
  ), daemons as materialized (
    select d.id from provisioner_daemons d join key on key.id = d.key_id order by d.id for update of d
  )
  select ${columns}, array(select id from daemons) as "daemonIds" from key join provisioner_keys k using (id)`);

const deleteKey = statement("delete from provisioner_keys where id = $1");

export interface DeleteProvisionerKey {
  /** An id, a name, or `default`. */
  organization: string;
  /** In any letter case. */
  name: string;
}

/**
 * Deletes a key with its daemons: their sockets are closed, their jobs fail. Returns the key before the deletion. Throws
 * BAD_USER_INPUT for reserved keys.
 */
export async function deleteProvisionerKey(
  ctx: Context,
  { organization: ref, name }: DeleteProvisionerKey,
): Promise<ProvisionerKeyRow> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "provisioner_key:delete", { organizationId });
  if (isReservedKey(name)) throw badInput([{ field: "name", detail: "Reserved keys cannot be deleted." }]);
  const key = await ctx.row(lockKey, organizationId, name);
  if (!key) throw notFound();
  await endJobsOf(ctx, organizationId, key.daemonIds, "The key of the provisioner daemon was deleted.");
  await ctx.row(deleteKey, key.id);
  ctx.audit({
    action: "delete",
    ...auditedAs("provisioner_key", key.id, key.name, organizationId),
    diff: { name: { old: key.name }, tags: { old: key.tags } },
  });
  ctx.publish(machineHint(key.id));
  return key;
}
