import { type RawBuilder, type SqlBool, sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { selectPermitted, type Permission } from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { AuditAction } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { lowestIdSince } from "../kernel/months.js";
import { findOrganization } from "../organizations/organizations.js";
import { timeZoneNamed } from "../quiet-hours/time-zones.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { dateAt, firstAt } from "../../runtime/time-zones/zone-data.js";
import { type Input, inputOf, int, optional, otherwise, reference, string } from "../kernel/values.js";

/** The days that are counted, and where. Each series is counted by itself, if it is selected. */
export interface CountedDays {
  /** In order, as `2026-01-31`. The last one is today. */
  readonly days: readonly string[];
  readonly timeZone: string;
  readonly organizationId: string | undefined;
}

/** The range of days for which counts are read: what happened then is counted by an index. */
const mostDays = 90;

export const DaysAndPlace = inputOf({
  days: otherwise(int(1, mostDays), 14, "The number of days up to today, {limits}."),
  timeZone: otherwise(string, "UTC", "The IANA time zone in which days begin."),
  organization: optional(
    reference,
    "Organization whose builds and tasks are counted: ID, name, or `default`. Default: all that the caller may read.",
  ),
});
export type DaysAndPlace = Input<typeof DaysAndPlace>;

/** Returns the days before and with today in a time zone. */
export async function countedDays(ctx: Context, { organization, days, timeZone }: DaysAndPlace): Promise<CountedDays> {
  const found = organization ? await findOrganization(ctx, organization) : undefined;
  const zone = timeZoneNamed(timeZone);
  const problems = new Problems();
  if (days < 1 || days > mostDays) problems.add("days", `Must be from 1 to ${mostDays}.`);
  if (zone === undefined) problems.add("timeZone", "Must be the name of an IANA time zone.");
  problems.throwIfAny();
  const today = dateAt(zone!, databaseTime());
  const at = (back: number) => new Date(instantOf(today) - back * 86_400_000).toISOString().slice(0, 10);
  return {
    days: Array.from({ length: days }, (_, index) => at(days - 1 - index)),
    timeZone: zone!,
    organizationId: found?.id,
  };
}

/** Rows with a time, which are counted by their day. */
interface Counted {
  permission: Permission;
  /** The table, as `x`, with the time by which its rows are counted. */
  from: RawBuilder<unknown>;
  time: RawBuilder<unknown>;
  where: RawBuilder<SqlBool>;
  /** Whether the rows are of an organization; otherwise they are counted in the deployment only. */
  hasOrganization?: true;
  /** Whether the table has a partition for each month. */
  hasMonths?: true;
}

const events = (action: AuditAction): Counted => ({
  permission: "audit_log:read",
  from: sql`audit_log x`,
  time: sql`x.time`,
  where: sql`x.action = ${action}`,
  hasMonths: true,
});

const jobs = (where: RawBuilder<SqlBool>): Counted => ({
  permission: "provisioner_job:read",
  from: sql`provisioner_jobs x`,
  time: sql`x.created_at`,
  where,
  hasOrganization: true,
});

const series = {
  createdUsers: {
    permission: "user:read",
    from: sql`users x`,
    time: sql`x.created_at`,
    where: sql`x.deleted_at is null and not x.is_system`,
  },
  signIns: events(AuditAction.LOGIN),
  rejectedSignIns: events(AuditAction.LOGIN_FAILED),
  builds: jobs(sql`x.type = 'workspace_build'`),
  failedBuilds: jobs(sql`x.type = 'workspace_build' and x.status = 'failed'`),
  createdTasks: {
    permission: "task:read",
    from: sql`tasks x`,
    time: sql`x.created_at`,
    where: sql`x.deleted_at is null`,
    hasOrganization: true,
  },
} satisfies Record<string, Counted>;

/** A series of counts. */
export type CountedSeries = keyof typeof series;

/**
 * Counts a series for each day, in one statement. Returns null if the caller may not read it there: what belongs to no
 * organization is read in the deployment as a whole.
 */
export async function countDaily(ctx: Context, of: CountedDays, name: CountedSeries): Promise<number[] | null> {
  const counted: Counted = series[name];
  const { everywhere, organizations } = selectPermitted(ctx.actor, counted.permission);
  const { organizationId, timeZone, days } = of;
  if (counted.permission === "audit_log:read" && !hasFeature(ctx, "audit_log")) return null;
  const isOfOrganization = counted.hasOrganization === true;
  if (!isOfOrganization && (organizationId !== undefined || !everywhere)) return null;
  if (!everywhere && organizations.length === 0) return null;
  if (organizationId !== undefined && !everywhere && !organizations.includes(organizationId)) return null;
  const readable = organizationId === undefined ? organizations : [organizationId];
  const place = !isOfOrganization
    ? sql`true`
    : everywhere && organizationId === undefined
      ? sql`x.organization_id = any(array(select id from organizations))`
      : sql`x.organization_id = any(${readable}::uuid[])`;
  // Where days begin is computed here, since Postgres has time zone data of its own. The last day ends with the time.
  const begins = days.map((day) => new Date(firstAt(timeZone, instantOf(day))).toISOString());
  const months = counted.hasMonths ? sql`x.id >= ${lowestIdSince(instantOf(begins[0]!))}::uuid` : sql`true`;
  const counting = sql<{ index: number; count: number }>`
    select width_bucket(${counted.time}, ${begins}::timestamptz[]) - 1 as index, count(*)::int as count
    from ${counted.from} where ${counted.time} >= ${begins[0]}::timestamptz and ${months} and ${counted.where} and ${place} group by 1
    ${sql.raw(counted.hasMonths ? plannedForValues : "")}`;
  const { rows } = await ctx.readOnStandby(({ db }) => counting.execute(db));
  const counts = new Map(rows.map(({ index, count }) => [index, count]));
  return days.map((_, index) => counts.get(index) ?? 0);
}
