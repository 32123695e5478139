import { randomBytes } from "node:crypto";
import { hasFeature } from "../entitlements/requirements.js";
import { systemActor } from "../kernel/actor.js";
import { Context, type Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { minute } from "../kernel/purge.js";
import type { TemplateDocument } from "../templates/documents.js";
import { resolveParameters } from "../templates/parameters.js";
import { systemIdentity } from "../users/system-identities.js";
import { createBuild } from "../workspaces/builds.js";
import { openStatuses, openStatusList } from "../workspaces/status.js";
import { workspaces, workspacesById } from "../workspaces/workspaces.js";
import { readPrebuildsSettings } from "./settings.js";

/** Unclaimed workspaces `w` of presets `p` of templates `t`. */
const unclaimed = `workspaces w join template_presets p on p.id = w.prebuilt_preset_id
  join templates t on t.id = w.template_id`;

/** Whether an unclaimed workspace is not, or will not be, one that a user could claim. */
const isUnfit = `(t.active_version_id is distinct from p.version_id or t.deprecation_message <> ''
  or w.latest_transition <> 'start' or w.latest_status in ('failed', 'canceled')
  or w.created_at <= coalesce(p.last_invalidated_at, '-infinity')
  or w.created_at <= now() - make_interval(secs => p.prebuild_ttl))`;

/** The rank of an unclaimed workspace among those of its preset: the oldest is claimed first. */
const placed = `
  select w.id, p.instances, w.latest_status, w.autobuild_after, coalesce(${isUnfit}, false) as is_unfit,
    row_number() over (partition by p.id order by coalesce(${isUnfit}, false), w.created_at, w.id) as place
  from ${unclaimed} where w.deleted_at is null`;

// A deletion that failed is repeated later.
const superfluous = statement<{ id: string }>(`
  select id from (${placed}) u
  where (is_unfit or place > instances) and latest_status not in ${openStatusList}
    and (autobuild_after is null or autobuild_after <= now())`);

const retryLater = statement("update workspaces set autobuild_after = now() + interval '30 minutes' where id = $1");

async function deleteUnclaimed(ctx: Context, id: string): Promise<void> {
  // A claim takes the same lock, and ends the state of being prebuilt.
  const workspace = await workspaces(ctx.db)
    .where("w.id", "=", id)
    .where("w.prebuiltPresetId", "is not", null)
    .where("w.deletedAt", "is", null)
    .where("w.latestStatus", "not in", openStatuses)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (!workspace) return;
  const initiatorId = await systemIdentity(ctx, "prebuilds");
  await createBuild(ctx, workspace, { transition: "delete", reason: "initiator", initiatorId });
  await ctx.row(retryLater, id);
}

/** The number of workspaces that a preset of an active version lacks. */
const missing = `p.instances - (
  select count(*) from workspaces w where w.prebuilt_preset_id = p.id and w.deleted_at is null and not coalesce(${isUnfit}, false))`;

const presets = `template_presets p join templates t on t.active_version_id = p.version_id
  where t.deleted_at is null and p.instances > 0 and p.prebuild_status = 'healthy' and t.deprecation_message = ''`;

const lacking = statement<{ id: string }>(`select p.id from ${presets} and ${missing} > 0`);

/** A preset that lacks workspaces. */
interface Lacking {
  templateId: string;
  organizationId: string;
  versionId: string;
  parameters: Record<string, string>;
  document: TemplateDocument;
}

// Templates are locked before their presets.
const holdTemplate = statement<{ id: string }>(`select t.id from ${presets} and p.id = $1 for share of t`);

// Of the replicas that prebuild for a preset, one goes on.
const lockPreset = statement<{ id: string }>(
  "select id from template_presets where id = $1 for no key update skip locked",
);

// Counts what others have committed before the lock was taken.
const readLacking = statement<Lacking & { missing: number }>(`
  select t.id as "templateId", t.organization_id as "organizationId", p.version_id as "versionId", p.parameters,
    (select d.content from template_versions v join template_documents d on d.id = v.document_id
      where v.id = p.version_id) as document, ${missing} as missing
  from ${presets} and p.id = $1`);

const insert = statement(`
  insert into workspaces (id, created_at, updated_at, organization_id, owner_id, name, template_id, prebuilt_preset_id)
  values ($1, now(), now(), $2, $3, $4, $5, $6)`);

/** Maximum number of workspaces that are made for a preset in one transaction. */
const batchSize = 10;

async function prebuild(ctx: Context, presetId: string): Promise<void> {
  const isLocked = (await ctx.row(holdTemplate, presetId)) && (await ctx.row(lockPreset, presetId));
  const preset = isLocked && (await ctx.row(readLacking, presetId));
  if (!preset) return;
  const ownerId = await systemIdentity(ctx, "prebuilds");
  for (let made = 0; made < Math.min(preset.missing, batchSize); made++) await make(ctx, presetId, preset, ownerId);
}

async function make(ctx: Context, presetId: string, preset: Lacking, ownerId: string): Promise<void> {
  const problems = new Problems();
  const parameters = resolveParameters(preset.document, { preset }, problems);
  problems.throwIfAny();
  const id = newId();
  const name = `prebuild-${randomBytes(6).toString("hex")}`;
  await ctx.row(insert, id, preset.organizationId, ownerId, name, preset.templateId, presetId);
  const [workspace] = await workspacesById(ctx, [id]);
  await createBuild(ctx, workspace!, {
    transition: "start",
    reason: "initiator",
    initiatorId: ownerId,
    versionId: preset.versionId,
    presetId,
    parameters,
  });
}

/**
 * Deletes unclaimed workspaces that are surplus, outdated, too old, or failed, and makes what presets of active versions
 * lack, each in a transaction of its own. Does nothing while the setting pauses it. Replicas may run it concurrently.
 */
export async function reconcilePrebuilds(services: Services): Promise<void> {
  if (!hasFeature({ services }, "workspace_prebuilds")) return;
  if ((await readPrebuildsSettings(contextOf(services))).reconciliationPaused) return;
  const { database } = services;
  for (const { id } of await database.query(superfluous, [])) await attempt(services, id, deleteUnclaimed);
  for (const { id } of await database.query(lacking, [])) await attempt(services, id, prebuild);
}

const contextOf = (services: Services) =>
  new Context(services, systemActor, { id: newId() }, () => new AbortController());

/** Runs a step in a transaction. Its failure is logged, and does not prevent the others. */
async function attempt(
  services: Services,
  id: string,
  step: (ctx: Context, id: string) => Promise<void>,
): Promise<void> {
  const ctx = contextOf(services);
  try {
    await ctx.transactional(() => step(ctx, id));
  } catch (error) {
    services.log.error({ err: error, id }, "A prebuilt workspace could not be made or deleted. Retried later.");
  }
}

export const prebuildsJob = { name: "reconcile prebuilt workspaces", every: minute / 2, run: reconcilePrebuilds };
