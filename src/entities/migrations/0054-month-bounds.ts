import { BackfillMigration } from "./backfill.js";

/** The tables that get partitions, with the column of the time at which a row was made. */
const tables = { audit_events: "time", connection_logs: "connect_time", inbox_notifications: "created_at" };

/**
 * Bounds the ids of three tables, so that the next migrations can make each the first partition of another one without
 * reading it while it is locked. Ids are UUIDv7, which begin with their time: the bound is that of a month that is
 * more than a month away. A row whose id does not begin with its time gets one that does.
 */
export class MonthBounds extends BackfillMigration {
  override up(): void {
    this.addSql(`
      create function first_id_of(moment timestamptz) returns uuid language sql immutable strict as $$
        select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
      $$;
    `);
    for (const table of Object.keys(tables)) {
      this.addSql(`lock table ${table} in access exclusive mode`);
      this.addSql(`
        do $$ begin
          execute format('alter table ${table} add constraint ${table}_months check (id < %L::uuid) not valid',
            first_id_of(date_trunc('month', now(), 'UTC') + interval '2 months'));
        end $$`);
    }
    for (const [table, time] of Object.entries(tables))
      this.addBackfill(`
        update ${table} set id = overlay(gen_random_uuid()::text
          placing left(first_id_of(${time})::text, 13) || '-7' from 1 for 15)::uuid
        where id in (select id from ${table} where id >= (
          select substring(pg_get_constraintdef(oid) from '''([0-9a-f-]{36})''')::uuid from pg_constraint
          where conrelid = '${table}'::regclass and conname = '${table}_months') limit 1000)`);
  }
}
