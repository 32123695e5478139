// Whether the sources of time zone data agree about the zones that schedules use.
import { setImmediate as breathe } from "node:timers/promises";
import { sql } from "kysely";
import type { Services } from "../kernel/context.js";
import { day, hour } from "../../runtime/durations.js";
import { databaseTime } from "../../runtime/clock.js";
import { type ZoneSource, zoneSources } from "../../runtime/time-zones/zone-data.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const p = columnsOf("templatePresets", "p");
const t = columnsOf("templates", "t");

/** How far ahead they are compared: two changes of most clocks. */
const ahead = 400 * day;
const step = 6 * hour;

/** Reads the zones that schedules use. */
async function zonesInUse({ database, config }: Pick<Services, "config" | "database">): Promise<string[]> {
  const { rows } = await sql<{ zone: string }>`
    select distinct zone from (
      select substring(schedule from '^CRON_TZ=(\\S+)') as zone from user_quiet_hours
      union all
      select substring(autostart_schedule from '^CRON_TZ=(\\S+)') from workspaces
        where autostart_schedule is not null and deleted_at is null
      union all
      select each ->> 'timezone' from templates t
        join template_presets p on ${p.versionId} = ${t.activeVersionId}
        cross join jsonb_array_elements(${p.prebuildSchedules}) each
        where ${t.deletedAt} is null
    ) used where zone is not null`.execute(database.db);
  return [...new Set([config.quietHoursDefault.zone, ...rows.map(({ zone }) => zone)])].toSorted();
}

/** Returns the first time at which a source differs from the one that applies, to a quarter of a day; `undefined` if none. */
function firstDifference(applied: ZoneSource, other: ZoneSource, zone: string, from: number): number | undefined {
  for (let time = from; time < from + ahead; time += step) {
    const offset = applied.offsetAt(zone, time);
    const another = other.offsetAt(zone, time);
    if (offset !== undefined && another !== undefined && offset !== another) return time;
  }
  return undefined;
}

/** The zones of which each log has warned. */
const warnings = new WeakMap<Services["log"], Set<string>>();

/** The zones about which the sources disagreed at the last comparison. */
const disputed = new WeakMap<Services["log"], string[]>();

/** Returns the zones in use about which the sources disagree; none before they were first compared. */
export const disputedZones = ({ log }: Pick<Services, "log">): string[] => disputed.get(log) ?? [];

/**
 * Warns once of each zone in use about which another source says something else than the one that applies: programs that use
 * that one, such as those in workspaces, show other times.
 */
export async function checkZones(services: Pick<Services, "config" | "database" | "log">): Promise<void> {
  const [applied, ...others] = zoneSources();
  const warned = warnings.get(services.log) ?? new Set<string>();
  warnings.set(services.log, warned);
  const found = new Set<string>();
  for (const zone of await zonesInUse(services)) {
    for (const other of others) {
      const key = `${zone} ${applied.name} ${other.name}`;
      const from = firstDifference(applied, other, zone, databaseTime());
      await breathe();
      if (from === undefined) continue;
      found.add(zone);
      if (warned.has(key)) continue;
      warned.add(key);
      services.log.warn(
        {
          zone,
          from: new Date(from).toISOString(),
          applied: { source: applied.name, version: applied.version },
          other: { source: other.name, version: other.version },
        },
        "Two sources of time zone data disagree about a zone that schedules use.",
      );
    }
  }
  disputed.set(services.log, [...found]);
}

export const zoneCheck = { name: "compare the sources of time zone data", every: day, first: 10_000, run: checkZones };
