import { sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { Template } from "../../entities/templates.js";
import { auditWith } from "../kernel/audit.js";
import { authorize } from "../authorization/authorization.js";
import { requireFeature } from "../entitlements/requirements.js";
import { requireUser } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { conflict, conflictOn, notFound, onViolation, Problems } from "../kernel/errors.js";
import { changesOf, pickGiven } from "../kernel/changed-fields.js";
import { newId } from "../kernel/ids.js";
import {
  check,
  choice,
  duration,
  flag,
  further,
  icon,
  inputOf,
  type Input,
  label,
  listOf,
  meant,
  optional,
  prose,
  reference,
  required,
  urlName,
  uuid,
} from "../kernel/values.js";
import { now } from "../kernel/queries.js";
import { notify, templateAdministrators } from "../notifications/notify.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import { findOrganization } from "../organizations/organizations.js";
import { templateTimesChanged } from "../workspaces/deadlines.js";
import { type FoundTemplate, lockTemplate, type TemplateRow } from "./templates.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { addVersion, FirstVersion, readContent } from "./version-changes.js";
import { longestDescription, longestLabel, longestName } from "../../entities/lengths.js";

const workspaces = columnsOf("workspaces");

/** A day of the week, as `Date.getDay` numbers them. */
export const Weekday = { SUNDAY: 0, MONDAY: 1, TUESDAY: 2, WEDNESDAY: 3, THURSDAY: 4, FRIDAY: 5, SATURDAY: 6 } as const;
export type Weekday = (typeof Weekday)[keyof typeof Weekday];

/** When starts of workspaces take the active version of their template by themselves. */
export const AutomaticUpdates = { NEVER: "never", OWNERS_CHOICE: "owners_choice", ALWAYS: "always" } as const;
export type AutomaticUpdates = (typeof AutomaticUpdates)[keyof typeof AutomaticUpdates];

type Settings = Omit<
  TemplateRow,
  "id" | "createdAt" | "updatedAt" | "organizationId" | "creatorId" | "activeVersionId"
>;

/** The settings of a template. Absent and null values keep what is stored, or take the default. */
export type TemplateFields = { [Name in keyof Settings]?: Settings[Name] | null };

/** Seconds: ten years. */
const longest = 315_360_000;
const templateDuration = duration(0, longest);

const reason = further(prose(longestDescription), (text) =>
  text !== "" && text.trim() === "" ? "Must not be blank." : undefined,
);

const settings = {
  displayName: optional(label(longestLabel), "Display name, {limits}. Default: empty."),
  description: optional(prose(longestDescription), "Description, {limits}. Default: empty."),
  icon: optional(meant(icon, { scalar: "URL" }), "URL or path of an icon, or empty. Default: empty."),
  defaultTtlSeconds: optional(
    templateDuration,
    "Seconds that workspaces run after a start; 0 sets no limit. Default: 0.",
  ),
  activityBumpSeconds: optional(
    templateDuration,
    "Seconds that activity adds to the deadline of a workspace. Default: 3600.",
  ),
  autostopDays: optional(
    listOf(choice(Weekday)),
    "Days on which workspaces stop when the quiet hours of their owner start. Default: none.",
  ),
  allowUserAutostart: optional(
    flag,
    "Whether owners may have their workspaces started by a schedule. If not, schedules that exist have no effect. Default: true.",
  ),
  autostartDays: optional(
    listOf(choice(Weekday)),
    "Days on which schedules start workspaces, in the time zone of each schedule. Default: all.",
  ),
  automaticUpdates: optional(
    choice(AutomaticUpdates),
    "When starts of workspaces take the active version by themselves. Default: `OWNERS_CHOICE`.",
  ),
  dormantAfterSeconds: optional(
    templateDuration,
    "Seconds without use after which workspaces become dormant; 0 for never. Default: 0.",
  ),
  deleteAfterSeconds: optional(
    templateDuration,
    "Seconds of dormancy after which workspaces are deleted; 0 for never. Default: 0.",
  ),
  allowUserCancel: optional(flag, "Whether users may cancel the builds that they started. Default: true."),
  requireActiveVersion: optional(
    flag,
    "Whether users without permission to update the template start the active version only. Default: false.",
  ),
  deprecationMessage: optional(
    reason,
    "Deprecates the template: no workspaces can be created from it any more, and the owners of existing ones get this message, {limits}. Empty ends the deprecation. Default: empty.",
  ),
};

/** The given properties of a template. Days are ordered, and each counts once. */
const propertiesOf = ({
  defaultTtlSeconds: defaultTtl,
  activityBumpSeconds: activityBump,
  dormantAfterSeconds: dormantAfter,
  deleteAfterSeconds: deleteAfter,
  autostopDays,
  autostartDays,
  ...others
}: TemplateFields) =>
  pickGiven({
    ...others,
    defaultTtl,
    activityBump,
    dormantAfter,
    deleteAfter,
    autostopDays: orderDays(autostopDays),
    autostartDays: orderDays(autostartDays),
  });

const orderDays = (days: readonly number[] | null | undefined) => days && [...new Set(days)].toSorted((a, b) => a - b);

type Properties = ReturnType<typeof propertiesOf>;

/** Throws FORBIDDEN if changes need a license that the deployment lacks. Switching off needs none. */
function requireScheduling(
  ctx: Context,
  { autostopDays = [], autostartDays, dormantAfter, deleteAfter }: Properties,
): void {
  const isRestricted = autostartDays !== undefined && autostartDays.length < 7;
  if (autostopDays.length > 0 || isRestricted || dormantAfter || deleteAfter)
    requireFeature(ctx, "advanced_template_scheduling");
}

const throwTaken = onViolation({ templates_name_unique: () => conflictOn("name", "This name is in use.") });

export const CreateTemplate = inputOf({
  organization: required(reference, "Organization of the new template: ID, name, or `default`."),
  name: required(urlName(longestName), "Unique in the organization: {limits}."),
  ...settings,
  ...FirstVersion.shape,
  everyoneCanUse: optional(flag, "Whether all members of the organization may use the template. Default: true."),
});
export type CreateTemplate = Input<typeof CreateTemplate>;

/** Creates a template with its first version. Returns the ids of both. */
export async function createTemplate(
  ctx: Context,
  { organization: ref, everyoneCanUse, document, variables, ...fields }: CreateTemplate,
): Promise<{ templateId: string; templateVersionId: string }> {
  const { userId: creatorId } = requireUser(ctx.actor);
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "template:create", { organizationId, acl: null });
  const { name } = fields;
  const problems = new Problems();
  check(CreateTemplate, fields, problems);
  const content = await readContent({ document, variables: variables ?? null }, problems);
  const properties = propertiesOf(fields);
  requireScheduling(ctx, properties);
  problems.throwIfAny();

  // The lock keeps the organization from being deleted.
  const organization = await ctx.db
    .selectFrom("organizations")
    .select("id")
    .where("id", "=", organizationId)
    .where("deletedAt", "is", null)
    .forShare()
    .executeTakeFirst();
  if (!organization) throw notFound();
  const template = ctx.em.create(Template, { organization: organizationId, creator: creatorId, ...properties, name });
  const isForAll = everyoneCanUse ?? true;
  auditWith(template, { everyoneCanUse: { new: isForAll } });
  await ctx.em.flush().catch(throwTaken);
  const { id } = template;
  if (isForAll) await allowEveryone(ctx, id, organizationId);
  const options = { name: null, activates: true };
  const templateVersionId = await addVersion(ctx, { id, name, organizationId }, content!, options);
  return { templateId: id, templateVersionId };
}

/** Has the access list of a template give its use to Everyone, whose group has the id of the organization. */
async function allowEveryone(ctx: Context, templateId: string, organizationId: string): Promise<void> {
  const [everyone] = await ctx.db.selectFrom("groups").select("id").where("id", "=", organizationId).execute();
  if (!everyone) return;
  await ctx.db
    .insertInto("templateAclEntries")
    .values({ id: newId(), templateId, groupId: everyone.id, role: "use", createdAt: now })
    .execute();
}

export const UpdateTemplate = inputOf({
  templateId: required(uuid, "ID of the template."),
  name: optional(urlName(longestName), "New name, unique in the organization."),
  ...settings,
});
export type UpdateTemplate = Input<typeof UpdateTemplate>;

/**
 * Changes the names and settings of a template. Moves the deadlines of its workspaces that run, and tells the owners of its
 * workspaces when it becomes deprecated. Returns its id.
 */
export async function updateTemplate(ctx: Context, { templateId, ...fields }: UpdateTemplate): Promise<string> {
  const template = await lockTemplate(ctx, templateId, "template:update");
  const stored = await ctx.em.findOneOrFail(Template, template.id);
  const changes = changesOf(stored, propertiesOf(fields));
  requireScheduling(ctx, changes);
  const problems = new Problems();
  check(UpdateTemplate, fields, problems);
  problems.throwIfAny();
  ctx.em.assign(stored, changes);
  await ctx.em.flush().catch(throwTaken);
  if (changes.defaultTtl !== undefined || changes.autostopDays !== undefined)
    await templateTimesChanged(ctx, template.id, {
      formerTtl: changes.defaultTtl === undefined ? undefined : template.defaultTtlSeconds,
      stopsBy: changes.autostopDays === undefined ? undefined : "template",
    });
  if (changes.deprecationMessage && template.deprecationMessage === "") await announceDeprecation(ctx, stored);
  return template.id;
}

const announceDeprecation = (ctx: Context, { id, name, displayName, deprecationMessage: message }: Template) =>
  notify(ctx, {
    template: templateNotifications.deprecated,
    recipients: sql<SqlBool>`u.id in (select ${workspaces.ownerId} from workspaces where ${workspaces.templateId} = ${id} and ${workspaces.deletedAt} is null)`,
    targets: [id],
    labels: { template: displayName || name, message },
    data: {},
  });

/**
 * Deletes a template, which frees its name. Throws CONFLICT while it has workspaces. Returns it before the deletion.
 */
export async function deleteTemplate(ctx: Context, templateId: string): Promise<FoundTemplate> {
  const template = await lockTemplate(ctx, templateId, "template:delete");
  const workspace = await ctx.db
    .selectFrom("workspaces")
    .select("id")
    .where("templateId", "=", template.id)
    .where("deletedAt", "is", null)
    .limit(1)
    .executeTakeFirst();
  if (workspace) throw conflict("The template has workspaces, or prebuilt ones. Delete them first.");
  await ctx.db.deleteFrom("templateAclEntries").where("templateId", "=", template.id).execute();
  const stored = await ctx.em.findOneOrFail(Template, template.id);
  stored.deletedAt = new Date(databaseTime());
  await ctx.em.flush();
  await notify(ctx, {
    template: templateNotifications.deleted,
    recipients: templateAdministrators(ctx, template.organizationId),
    targets: [template.id],
    labels: { name: template.displayName || template.name },
    data: {},
  });
  return template;
}
