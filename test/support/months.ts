// Partitions of the tables that have one for each month.
import type { World } from "./world.js";

/** The partitioned tables, with the table that is the first partition of each. */
export const firstPartitions = {
  audit_log: "audit_events",
  connection_log: "connection_logs",
  inbox: "inbox_notifications",
};
export type Partitioned = keyof typeof firstPartitions;

/** The month that is some months before or after this one: its partition's ending, and its first day. */
export function month(offset: number): { name: string; date: string } {
  const now = new Date();
  const date = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1)).toISOString().slice(0, 10);
  return { name: date.slice(0, 7).replace("-", "_"), date };
}

/** Makes a table as it is some months later: its first partition ends before the month `from`, and the next ones exist. */
export async function age({ app }: World, table: Partitioned, from: number, made: readonly number[]): Promise<void> {
  const first = firstPartitions[table];
  const { pool } = app.services.database;
  await pool.query(`
    alter table ${table} detach partition ${first};
    delete from ${first};
    alter table ${table} attach partition ${first} for values from (minvalue) to (
      '${(await pool.query<{ id: string }>("select first_id_of($1::timestamptz) as id", [month(from).date])).rows[0]!.id}')`);
  for (const each of made) await pool.query("select create_month($1, $2)", [table, month(each).date]);
}

/** The endings of the partitions of a table that are months, in their order. */
export async function months({ app }: World, table: Partitioned): Promise<string[]> {
  const { rows } = await app.services.database.pool.query<{ name: string }>(
    "select relname as name from pg_inherits join pg_class on oid = inhrelid where inhparent = $1::regclass order by 1",
    [table],
  );
  return rows.flatMap(({ name }) => /_(\d{4}_\d\d)$/.exec(name)?.[1] ?? []);
}

/** SQL of an id that was made at a time, which is given as SQL. */
export const idAt = (time: string) =>
  `overlay(gen_random_uuid()::text placing left(first_id_of(${time})::text, 13) || '-7' from 1 for 15)::uuid`;
