import { sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { day, hour } from "../../runtime/durations.js";
import { columnsOf } from "../../infrastructure/database/columns.js";
import { takeTurn } from "../../infrastructure/database/locks.js";
import { type Notification, notify, templateAdministrators } from "../notifications/notify.js";
import { templateNotifications } from "../notifications/templates/provisioning.js";

const u = columnsOf("users", "u");

const template = templateNotifications.failedBuilds;

/** Maximum number of reports that are sent at a time: the others follow an hour later. */
const mostReports = 50;

/** Maximum number of versions that a report names. */
const mostVersions = 20;

/**
 * The templates with failed builds in a week for which no report was sent yet. A build belongs to the week in which it
 * was queued, since the index of the pages of jobs has this time.
 */
const selectUnreported = (ctx: Context, { start, end, week }: Week) =>
  ctx.db
    .selectFrom((eb) =>
      eb
        .selectFrom("organizations as o")
        .innerJoin("provisionerJobs as j", "j.organizationId", "o.id")
        .innerJoin("workspaceBuilds as b", "b.jobId", "j.id")
        .select(({ fn }) => [
          "b.versionId",
          fn.countAll<number>().as("total"),
          fn.countAll<number>().filterWhere("j.status", "=", "failed").as("failed"),
        ])
        .where("j.createdAt", ">=", start)
        .where("j.createdAt", "<", end)
        .where("j.type", "=", "workspace_build")
        .where("j.status", "in", ["succeeded", "failed"])
        .groupBy("b.versionId")
        .as("c"),
    )
    .innerJoin("templateVersions as v", "v.id", "c.versionId")
    .innerJoin("templates as t", "t.id", "v.templateId")
    .select(({ fn }) => [
      "t.id as templateId",
      "t.name as templateName",
      "t.displayName as templateDisplayName",
      "t.organizationId",
      fn.sum<number>("c.total").as("total"),
      fn.sum<number>("c.failed").as("failed"),
      // Those with failures, most failures first.
      sql<Array<{ template_version_name: string; failed_count: number }>>`json_agg(
        json_build_object('template_version_name', v.name, 'failed_count', c.failed) order by c.failed desc, v.name
      ) filter (where c.failed > 0)`.as("versions"),
    ])
    .where("t.deletedAt", "is", null)
    // Reports that reach no user would come first again each hour, and the others never.
    .where(
      sql<SqlBool>`exists (select from users u
        where ${templateAdministrators(ctx, sql.ref("t.organizationId"))} and u.status = 'active' and ${u.deletedAt} is null)`,
    )
    .groupBy("t.id")
    .having(({ fn }) => fn.sum("c.failed"), ">", 0)
    .having((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom("notificationMessages as m")
            .select("m.id")
            .where("m.templateId", "=", template.id)
            .where("m.dedupeKey", "=", sql<string>`t.id || ' ' || ${week}`),
        ),
      ),
    )
    .orderBy("t.id")
    .limit(mostReports)
    .execute();

interface Week {
  /** RFC 3339. */
  start: string;
  end: string;
  /** The date of its Monday. */
  week: string;
}

type Failures = Awaited<ReturnType<typeof selectUnreported>>[number];

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
  const start = new Date(end.getTime() - 7 * day).toISOString();
  const week = start.slice(0, 10);
  const ctx = systemContext(services);
  await ctx.transactional(async () => {
    await takeTurn(ctx, "failure_reports");
    const found = await selectUnreported(ctx, { start, end: end.toISOString(), week });
    if (found.length > 0) await notify(ctx, ...found.map((failures) => reportOf(ctx, failures, week)));
  });
}

function reportOf(ctx: Context, failures: Failures, week: string): Notification {
  const { templateId, templateName, templateDisplayName, organizationId, total, failed, versions } = failures;
  return {
    template,
    object: { name: templateName, organizationId },
    recipients: templateAdministrators(ctx, organizationId),
    targets: [templateId, organizationId],
    dedupeKey: `${templateId} ${week}`,
    labels: { template_display_name: templateDisplayName || templateName },
    data: {
      failed_builds: failed,
      total_builds: total,
      report_frequency: "week",
      template_versions: versions.slice(0, mostVersions),
    },
  };
}

export const failureReports = {
  name: "report failed builds",
  every: hour,
  run: (services: Services) => reportFailures(services),
};
