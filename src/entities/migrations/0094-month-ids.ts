import { BackfillMigration } from "./backfill.js";

/**
 * The tables with months, with the column of the time in whose order they are read, and how much later than it ids may be:
 * as `domain/kernel/months.ts` has it.
 */
const tables: ReadonlyArray<readonly [table: string, time: string, late: string]> = [
  ["audit_log", "time", "1 day"],
  ["connection_log", "connect_time", "30 days 1 hour"],
  ["inbox", "created_at", "1 day"],
];

/** Gives rows whose id is not of their time one that is: lists read only the months that can have the times of a page. */
export class MonthIds extends BackfillMigration {
  override up(): void {
    for (const [table, time, late] of tables)
      this.addBackfill(`
        update ${table} set id = overlay(gen_random_uuid()::text
          placing left(first_id_of(${time})::text, 13) || '-7' from 1 for 15)::uuid
        where id = any(array(
          select id from ${table}
          where id < first_id_of(${time} - interval '1 day') or id >= first_id_of(${time} + interval '${late}')
          limit 1000))`);
  }
}
