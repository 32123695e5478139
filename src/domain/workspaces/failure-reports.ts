import { databaseTime } from "../../clock.js";
import { systemActor } from "../kernel/actor.js";
import { Context, type Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { takeTurn } from "../kernel/locks.js";
import { day, hour } from "../kernel/purge.js";
import { type Notification, notify } from "../notifications/notify.js";
import { templateAdministrators } from "../notifications/recipients.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";

/** What a report says about a template whose builds failed. */
interface Failures {
  templateId: string;
  templateName: string;
  organizationId: string;
  total: number;
  failed: number;
  /** Those with failures, most failures first. */
  versions: Array<{ template_version_name: string; failed_count: number }>;
}

const template = templateNotifications.failedBuilds;

/** Maximum number of reports that are sent at a time: the others follow an hour later. */
const mostReports = 50;

/** Maximum number of versions that a report names. */
const mostVersions = 20;

// Read by the index of the pages of jobs: builds count in the week in which they were queued. `$3` is the template of
// the notification.
const unreported = statement<Failures>(`
  select t.id as "templateId", coalesce(nullif(t.display_name, ''), t.name) as "templateName",
    t.organization_id as "organizationId", sum(c.total)::int as total, sum(c.failed)::int as failed,
    json_agg(json_build_object('template_version_name', v.name, 'failed_count', c.failed) order by c.failed desc, v.name)
      filter (where c.failed > 0) as versions
  from (
    select b.version_id, count(*) as total, count(*) filter (where j.status = 'failed') as failed
    from organizations o join provisioner_jobs j
        on j.organization_id = o.id and j.created_at >= $1 and j.created_at < $2 and j.type = 'workspace_build'
          and j.status in ('succeeded', 'failed')
      join workspace_builds b on b.job_id = j.id
    group by b.version_id
  ) c join template_versions v on v.id = c.version_id join templates t on t.id = v.template_id
  where t.deleted_at is null
  group by t.id
  having sum(c.failed) > 0 and not exists (
    select from notification_messages m where m.template_id = $3 and m.dedupe_key = t.id || ' ' || $4)
  order by t.id limit ${mostReports}`);

/** The first day of a week in UTC, a Monday. */
function weekOf(now: Date): Date {
  const today = Math.floor(now.getTime() / day) * day;
  return new Date(today - ((now.getUTCDay() + 6) % 7) * day);
}

/**
 * Tells the administrators of templates how many builds failed in the last week from Monday to Sunday, once a week. Sends
 * nothing about templates without failures.
 */
export async function reportFailures(services: Services, now = new Date(databaseTime())): Promise<void> {
  const end = weekOf(now);
  const start = new Date(end.getTime() - 7 * day);
  const week = start.toISOString().slice(0, 10);
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  await ctx.transactional(async () => {
    await takeTurn(ctx, "failure_reports");
    const found = await ctx.rows(unreported, start, end, template.id, week);
    if (found.length > 0) await notify(ctx, ...found.map((failures) => reportOf(ctx, failures, week)));
  });
}

function reportOf(ctx: Context, failures: Failures, week: string): Notification {
  const { templateId, templateName, organizationId, total, failed, versions } = failures;
  return {
    template,
    recipients: templateAdministrators(ctx, organizationId),
    targets: [templateId, organizationId],
    dedupeKey: `${templateId} ${week}`,
    labels: { template_display_name: templateName },
    data: {
      failed_builds: failed,
      total_builds: total,
      report_frequency: "week",
      template_versions: versions.slice(0, mostVersions),
    },
  };
}

export const failureReports = { name: "report failed builds", every: hour, run: reportFailures };
