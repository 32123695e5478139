import { sql, type SqlBool } from "kysely";
import type { Context } from "../kernel/context.js";
import { notify, oncePerHour, templateAdministrators } from "../notifications/notify.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";
import type { JobOutcome } from "../provisioners/provisioner-jobs.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const templateAclEntries = columnsOf("templateAclEntries");
const m = columnsOf("groupMembers", "m");

const u = columnsOf("users", "u");

/** Maximum number of members of groups with the role `admin` in the access list of a template that are told. */
const mostByGroup = 1000;

/**
 * The recipients of failures: administrators of templates, users who administer this one by its access list, and its creator
 * if that is an owner of the deployment; if none is left, all owners.
 */
async function caretakers(
  ctx: Context,
  { id, creatorId, organizationId }: { id: string; creatorId: string; organizationId: string },
) {
  const shared = sql`select ${templateAclEntries.userId}, ${templateAclEntries.groupId} from template_acl_entries where ${templateAclEntries.templateId} = ${id} and role = 'admin'`;
  // The group Everyone has the id of the organization.
  const ofGroups = sql`
    select ${m.userId} from (${shared}) e join group_members m on ${m.groupId} = e.group_id
    union select ${m.userId} from (${shared}) e join organization_members m on ${m.organizationId} = e.group_id
    order by user_id limit ${mostByGroup}`;
  const found = await ctx.db
    .selectFrom("users as u")
    .where((eb) =>
      eb.or([
        templateAdministrators(ctx, organizationId),
        sql<SqlBool>`u.id = any(array(select user_id from (${shared}) e where user_id is not null))`,
        sql<SqlBool>`u.id = any(array(${ofGroups}))`,
        sql<SqlBool>`(u.id = ${creatorId} and ${isOwner})`,
      ]),
    )
    .where("u.deletedAt", "is", null)
    .where("u.status", "<>", "suspended")
    .where(sql<SqlBool>`not ${u.isSystem}`)
    .select("u.id")
    .execute();
  return found.length > 0 ? found.map((user) => user.id) : isOwner;
}

const isOwner = sql<SqlBool>`(${u.siteRoles} <> '{}' and 'owner' = any(${u.siteRoles}))`;

/** Number of failures in a row after which no more workspaces are prebuilt for a preset. */
const mostFailures = 3;

/**
 * Counts the starts of prebuilt workspaces that fail in a row. Tells those who look after the template of failures, once an
 * hour for each version, and administrators when there are too many. To be called last in the transaction that ends the build.
 */
export async function prebuildEnded(ctx: Context, presetId: string, outcome: JobOutcome, error: string): Promise<void> {
  const preset = ctx.db.updateTable("templatePresets").where("id", "=", presetId);
  if (outcome === "succeeded") await preset.set({ prebuildFailures: 0 }).where("prebuildFailures", ">", 0).execute();
  if (outcome !== "failed") return;
  const counted = await preset
    .set(({ eb }) => ({ prebuildFailures: eb("prebuildFailures", "+", 1) }))
    .returning(["name", "versionId", "prebuildFailures"])
    .executeTakeFirst();
  if (!counted) return;
  const template = await ctx.db
    .selectFrom("templateVersions as v")
    .innerJoin("templates as t", "t.id", "v.templateId")
    .where("v.id", "=", counted.versionId)
    .select(["t.id", "t.name", "t.displayName", "t.organizationId", "t.creatorId", "v.name as version"])
    .executeTakeFirstOrThrow();
  const isLimited = counted.prebuildFailures === mostFailures;
  if (isLimited) await preset.set({ prebuildStatus: "hard_limited" }).execute();
  const labels = { template: template.displayName || template.name, preset: counted.name };
  const about = { targets: [template.id], object: template, data: {} };
  const failure = {
    ...about,
    recipients: await caretakers(ctx, template),
    template: templateNotifications.prebuildFailed,
    dedupeKey: oncePerHour(counted.versionId),
    labels: { ...labels, version: template.version, reason: error || "The log of the build has the reason." },
  };
  const limit = {
    ...about,
    recipients: templateAdministrators(ctx, template.organizationId),
    template: templateNotifications.prebuildLimit,
    labels,
  };
  await notify(ctx, failure, ...(isLimited ? [limit] : []));
}
