// Counts of events and creations on each day, for charts. Past days are counted by a job, to the quarter of an hour, since days begin at other
// times in other time zones; the last half day and what was not counted yet are counted when they are read.
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Database } from "../../infrastructure/database/database.js";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { takeFree } from "../../infrastructure/database/locks.js";
import { selectPermitted, type Permission } from "../authorization/authorization.js";
import { hasFeature } from "../entitlements/requirements.js";
import { AuditAction } from "../kernel/audit.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { lowestIdSince } from "../kernel/months.js";
import { findOrganization } from "../organizations/organizations.js";
import { timeZoneNamed } from "../quiet-hours/time-zones.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import { day, hour, second } from "../../runtime/durations.js";
import { dateAt, firstAt } from "../../runtime/time-zones/zone-data.js";
import { type Input, inputOf, int, optional, otherwise, reference, string } from "../kernel/values.js";

const q = columnsOf("quarterHourCounts", "q");

/** The days that are counted, and where. Each series is counted by itself, if it is selected. */
export interface CountedDays {
  /** In order, as `2026-01-31`. The last one is today. */
  readonly days: readonly string[];
  /** When each begins. */
  readonly begins: readonly string[];
  readonly organizationId: string | undefined;
  /** Since when rows are counted; before, the stored counts are read. */
  readonly liveSince: string;
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
  const at = (back: number) => new Date(instantOf(today) - back * day).toISOString().slice(0, 10);
  const all = Array.from({ length: days }, (_, index) => at(days - 1 - index));
  // Where days begin is computed here, since Postgres has time zone data of its own.
  const begins = all.map((date) => new Date(firstAt(zone!, instantOf(date))).toISOString());
  const until = (await ctx.readOnStandby(countedUntil)) ?? "";
  return { days: all, begins, organizationId: found?.id, liveSince: begins[0]! > until ? begins[0]! : until };
}

async function countedUntil({ db }: Pick<Database, "db">): Promise<string | null | undefined> {
  return (await db.selectFrom("deployment").select("countedUntil").executeTakeFirst())?.countedUntil;
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
  const { organizationId, begins, liveSince } = of;
  if (counted.permission === "audit_log:read" && !hasFeature(ctx, "audit_log")) return null;
  const isOfOrganization = counted.hasOrganization === true;
  if (!isOfOrganization && (organizationId !== undefined || !everywhere)) return null;
  if (!everywhere && organizations.length === 0) return null;
  if (organizationId !== undefined && !everywhere && !organizations.includes(organizationId)) return null;
  const readable = organizationId === undefined ? organizations : [organizationId];
  const isIn = (organization: RawBuilder<unknown>) =>
    !isOfOrganization
      ? sql`true`
      : everywhere && organizationId === undefined
        ? sql`${organization} = any(array(select id from organizations))`
        : sql`${organization} = any(${readable}::uuid[])`;
  // The last day ends with the time.
  const counting = sql<{ index: number; count: number }>`
    select width_bucket(at, ${begins}::timestamptz[]) - 1 as index, sum(count)::int as count from (
      select ${counted.time} as at, 1 as count from ${counted.from} where ${whereSince(counted, liveSince)} and ${isIn(sql`x.organization_id`)}
      union all
      select ${q.beginsAt}, ${q.count} from quarter_hour_counts q
      where ${q.series} = ${name} and ${q.beginsAt} >= ${begins[0]}::timestamptz and ${q.beginsAt} < ${liveSince}::timestamptz
        and ${isIn(q.organizationId)}
    ) counted group by 1
    ${sql.raw(counted.hasMonths ? plannedForValues : "")}`;
  const { rows } = await ctx.readOnStandby(({ db }) => counting.execute(db));
  const counts = new Map(rows.map(({ index, count }) => [index, count]));
  return begins.map((_, index) => counts.get(index) ?? 0);
}

/** The rows of a series since a time. */
function whereSince({ time, where, hasMonths }: Counted, since: string): RawBuilder<SqlBool> {
  const months = hasMonths ? sql`x.id >= ${lowestIdSince(instantOf(since))}::uuid` : sql`true`;
  return sql`${time} >= ${since}::timestamptz and ${months} and ${where}`;
}

/** Newer rows are counted when they are read: a build that fails does so after its creation, rarely after hours. */
const newest = 12 * hour;
const interval = 6 * hour;

/**
 * Counts the quarters of an hour of the past days that can be read, again in each run, since users and tasks are deleted
 * and months of the audit log end. Replicas share the work: one that finds it done or in progress leaves it.
 */
export const dailyCountsJob = {
  name: "count what happened on past days",
  every: interval,
  first: 10 * second,
  async run({ database }: { database: Pick<Database, "db"> }): Promise<void> {
    const until = new Date(Math.floor((databaseTime() - newest) / hour) * hour).toISOString();
    // A day more than can be read, since days of some zones begin half a day before those of UTC.
    const since = new Date(instantOf(until.slice(0, 10)) - (mostDays + 1) * day).toISOString();
    await database.db.transaction().execute(async (db) => {
      if (!(await takeFree({ db }, "daily_counts"))) return;
      const before = await countedUntil({ db });
      if (before && instantOf(until) - instantOf(before) < interval / 2) return;
      await db.deleteFrom("quarterHourCounts").execute();
      for (const [name, counted] of Object.entries<Counted>(series)) {
        const organization = counted.hasOrganization ? sql`x.organization_id` : sql`${nowhere}::uuid`;
        await db
          .insertInto("quarterHourCounts")
          .columns(["series", "beginsAt", "organizationId", "count"])
          .expression(sql`
            select ${name}, date_bin('15 minutes', ${counted.time}, '2000-01-01T00:00:00Z'), ${organization}, count(*)
            from ${counted.from} where ${whereSince(counted, since)} and ${counted.time} < ${until}::timestamptz
            group by 1, 2, 3`)
          .execute();
      }
      await db.updateTable("deployment").set({ countedUntil: until }).execute();
    });
  },
};

/** Stands for an organization where there is none. */
const nowhere = "00000000-0000-0000-0000-000000000000";
