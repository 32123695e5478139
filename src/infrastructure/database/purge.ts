import { sql } from "kysely";
import type { Config } from "../../runtime/config.js";
import { hour } from "../../runtime/durations.js";
import type { Database } from "./database.js";

export interface PurgeOptions {
  /** The column with the start of the retention: the time of creation or of expiry. */
  by: string;
  /** A join of the table, `t`, with the table that has the column. */
  join?: string;
  /** The retention in milliseconds. Default: 0. */
  keptFor?: number | ((config: Config) => number);
  /** A condition on the rows. Default: all. */
  where?: string;
  /** The name of the job in the log. Default: by the table. */
  name?: string;
  /** Milliseconds from the end of a run to the start of the next. Default: an hour. */
  every?: number;
}

/** A background job that deletes rows. */
export interface Purge<Needed = { config: Config; database: Pick<Database, "db"> }> {
  name: string;
  every: number;
  run(services: Needed): Promise<void>;
}

/**
 * Declares a job that deletes old rows of a table, in batches of 1000. Replicas may run it concurrently: each skips the
 * rows that another one is deleting.
 */
export function purge(
  table: string,
  { by, join = "", where = "true", name = `purge ${table}`, keptFor = 0, every = hour }: PurgeOptions,
): Purge {
  const deleteOldest = (age: number) => sql`
    delete from ${sql.raw(table)} where ctid = any(array(
      select t.ctid from ${sql.raw(`${table} t ${join}`)}
      where ${sql.raw(by)} <= now() - make_interval(secs => ${age / 1000}) and ${sql.raw(where)}
      order by ${sql.raw(by)} limit 1000 for update of t skip locked))`;
  return {
    name,
    every,
    async run({ config, database }) {
      const age = typeof keptFor === "number" ? keptFor : keptFor(config);
      if (age === Infinity) return;
      while ((await deleteOldest(age).execute(database.db)).numAffectedRows! > 0n);
    },
  };
}
