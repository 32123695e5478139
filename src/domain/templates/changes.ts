import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { sql } from "../kernel/sql.js";
import { diffOf } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { notify } from "../notifications/notify.js";
import { templateAdministrators } from "../notifications/recipients.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import { findOrganization } from "../organizations/organizations.js";
import { addFieldProblems, changesOf, defaultSettings, requireScheduling, type TemplateFields } from "./settings.js";
import { type FoundTemplate, lockTemplate, ofTemplate } from "./templates.js";
import { addVersion, readContent, type VersionContent } from "./version-changes.js";

export interface CreateTemplate extends TemplateFields, VersionContent {
  /** Id, name or `default`. */
  organization: string;
  /** Whether all members of the organization may use it. Default: true. */
  everyoneCanUse?: boolean | null;
}

// The lock on the organization keeps it from being deleted.
const insertTemplate = statement<{ id: string }>(`
  with organization as (
    select id from organizations where id = $2 and deleted_at is null for share
  ), created as (
    insert into templates (id, created_at, updated_at, organization_id, creator_id, name, display_name, description,
      icon, default_ttl, activity_bump, autostop_days, dormant_after, delete_after, allow_user_cancel,
      require_active_version, deprecation_message)
    select $1, now(), now(), id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 from organization
    returning id, organization_id
  ), entry as (
    insert into template_acl_entries (id, template_id, group_id, role, created_at)
    select gen_random_uuid(), t.id, g.id, 'use', now() from created t join groups g on g.id = t.organization_id where $16
  )
  select id from created`);

const throwTaken = onViolation({ templates_name_unique: () => conflictOn("name", "This name is in use.") });

/** Creates a template with its first version. Returns the ids of both. */
export async function createTemplate(
  ctx: Context,
  { organization: ref, everyoneCanUse, document, variables, ...fields }: CreateTemplate,
): Promise<{ templateId: string; templateVersionId: string }> {
  const { userId } = requireUser(ctx.actor);
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "template:create", { organizationId, acl: null });
  const name = fields.name ?? "";
  const problems = new Problems();
  addFieldProblems(problems, { ...fields, name });
  const content = readContent({ document, variables: variables ?? null }, problems);
  const changes = changesOf(defaultSettings, { ...fields, name });
  requireScheduling(ctx, changes);
  problems.throwIfAny();

  const id = newId();
  const settings = { ...defaultSettings, ...newValues(changes) };
  const values = [id, organizationId, userId, name, ...settingsIn(settings), everyoneCanUse ?? true];
  const created = await ctx.row(insertTemplate, ...values).catch(throwTaken);
  if (!created) throw notFound();
  const template = { id, name, organizationId };
  const diff = diffOf({}, { name, ...settings, everyoneCanUse: everyoneCanUse ?? true });
  ctx.audit({ action: "create", ...ofTemplate(template), diff });
  const templateVersionId = await addVersion(ctx, template, content!, { name: null, activates: true });
  return { templateId: id, templateVersionId };
}

const newValues = (changes: ReturnType<typeof changesOf>): Partial<typeof defaultSettings> =>
  Object.fromEntries(Object.entries(changes).map(([field, { new: value }]) => [field, value]));

/** The settings in the order of statements. */
const settingsIn = (settings: typeof defaultSettings): unknown[] => [
  settings.displayName,
  settings.description,
  settings.icon,
  settings.defaultTtlSeconds,
  settings.activityBumpSeconds,
  settings.autostopDays,
  settings.dormantAfterSeconds,
  settings.deleteAfterSeconds,
  settings.allowUserCancel,
  settings.requireActiveVersion,
  settings.deprecationMessage,
];

const changeTemplate = statement(`
  update templates set name = $2, display_name = $3, description = $4, icon = $5, default_ttl = $6, activity_bump = $7,
    autostop_days = $8, dormant_after = $9, delete_after = $10, allow_user_cancel = $11, require_active_version = $12,
    deprecation_message = $13, updated_at = now()
  where id = $1`);

export interface UpdateTemplate extends TemplateFields {
  templateId: string;
}

/**
 * Changes the names and settings of a template. Tells the owners of its workspaces when it becomes deprecated. Returns its
 * id.
 */
export async function updateTemplate(ctx: Context, { templateId, ...fields }: UpdateTemplate): Promise<string> {
  const template = await lockTemplate(ctx, templateId, "template:update");
  const diff = changesOf(template, fields);
  requireScheduling(ctx, diff);
  const problems = new Problems();
  addFieldProblems(problems, fields);
  problems.throwIfAny();
  if (Object.keys(diff).length === 0) return template.id;
  const after = { ...template, ...newValues(diff) };
  await ctx.row(changeTemplate, template.id, after.name, ...settingsIn(after)).catch(throwTaken);
  ctx.audit({ action: "update", ...ofTemplate(template), diff });
  if (template.deprecationMessage === "" && after.deprecationMessage !== "") await announceDeprecation(ctx, after);
  return template.id;
}

const announceDeprecation = (ctx: Context, { id, name, displayName, deprecationMessage: message }: FoundTemplate) =>
  notify(ctx, {
    template: templateNotifications.deprecated,
    recipients: sql`u.id in (select owner_id from workspaces where template_id = ${id} and deleted_at is null)`,
    targets: [id],
    labels: { template: displayName || name, message },
    data: {},
  });

const markDeleted = statement<{ id: string }>(`
  with entries as (delete from template_acl_entries where template_id = $1
    and not exists (select from workspaces where template_id = $1 and deleted_at is null))
  update templates set deleted_at = now(), updated_at = now()
  where id = $1 and not exists (select from workspaces where template_id = $1 and deleted_at is null)
  returning id`);

/** Deletes a template, which frees its name. Throws CONFLICT while it has workspaces. Returns it before the deletion. */
export async function deleteTemplate(ctx: Context, templateId: string): Promise<FoundTemplate> {
  const template = await lockTemplate(ctx, templateId, "template:delete");
  const deleted = await ctx.row(markDeleted, template.id);
  if (!deleted) throw conflict("The template has workspaces, or prebuilt ones. Delete them first.");
  ctx.audit({ action: "delete", ...ofTemplate(template), diff: { name: { old: template.name } } });
  await notify(ctx, {
    template: templateNotifications.deleted,
    recipients: templateAdministrators(ctx, template.organizationId),
    targets: [template.id],
    labels: { name: template.displayName || template.name },
    data: {},
  });
  return template;
}
