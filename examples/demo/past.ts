// Moves what was done in the last minute into the days before today. The server takes its time from the clock of its
// database, which nobody can set to the past, so the company's month is lived through the public API within a minute, and
// then the times are moved: in the demonstration's own database, and nowhere else.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client as Connection } from "pg";

/** A day that was lived in a moment: when it began, and the day that it stands for. */
export interface LivedDay {
  from: number;
  to: number;
  /** The beginning of the day that it stands for. */
  day: number;
}

const hour = 3_600_000;
/** The working day, after the beginning of the day in UTC. */
const begin = 7 * hour;
const length = 10 * hour;

/** Moves all times of the database in a data directory that are within the days, or before them. */
export async function moveToPast(dataDirectory: string, days: readonly LivedDay[]): Promise<void> {
  const { password, port } = JSON.parse(readFileSync(join(dataDirectory, "postgres/cluster.json"), "utf8")) as {
    password: string;
    port: number;
  };
  const database = new Connection({ host: "127.0.0.1", port, user: "steward", password, database: "postgres" });
  await database.connect();
  try {
    await database.query("begin");
    // Copies of times that triggers keep are moved themselves.
    await database.query("set local session_replication_role = replica");
    await database.query(
      "create temp table lived (of_from timestamptz, of_to timestamptz, at timestamptz) on commit drop",
    );
    for (const { from, to, day } of days)
      await database.query(
        "insert into lived select to_timestamp($1 / 1e3), to_timestamp($2 / 1e3), to_timestamp($3 / 1e3)",
        [from, to, day + begin],
      );
    await database.query(`
      create function pg_temp.moved(given timestamptz) returns timestamptz language sql stable as $$
        select coalesce(
          (select date_trunc('milliseconds', at + (given - of_from) * (${length} / extract(epoch from of_to - of_from) / 1e3))
             from lived where given >= of_from and given < of_to),
          (select at - (of_from - given) from lived where given < of_from order by of_from limit 1),
          given)
      $$`);
    const { rows } = await database.query<{ table: string; columns: string[] }>(`
      select format('%I.%I', n.nspname, c.relname) as table, array_agg(quote_ident(a.attname)) as columns
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname = 'public' and c.relkind = 'r' and a.atttypid = 'timestamptz'::regtype and a.attnum > 0
        and not a.attisdropped and a.attgenerated = '' and c.relname not like '%migrations%'
      group by 1`);
    for (const { table, columns } of rows)
      await database.query(
        `update ${table} set ${columns.map((name) => `${name} = pg_temp.moved(${name})`).join(", ")}`,
      );
    await database.query("commit");
    await database.query("vacuum analyze");
  } finally {
    await database.end();
  }
}
