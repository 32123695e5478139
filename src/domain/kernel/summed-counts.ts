// Counts that many change: each change is a row of its own, so that they do not wait for each other, and a job adds them up.
import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import { second } from "../../runtime/durations.js";

interface SummedCounts {
  /** The name of the job. */
  name: string;
  /** The table of the changes, and its column with the ID of what they are of. */
  changes: string;
  of: string;
  /** The table that has the counts, and the column of each with that of its changes. */
  table: string;
  counts: Readonly<Record<string, string>>;
}

/**
 * A job that adds changes to counts. Replicas may do so concurrently: each skips the rows that another transaction has
 * locked. Changes of what is deleted are dropped.
 */
export function countJob({ name, changes, of, table, counts }: SummedCounts) {
  const [from, into, id] = [sql.id(changes), sql.id(table), sql.id(of)];
  const each = (write: (count: RawBuilder<unknown>, change: RawBuilder<unknown>) => RawBuilder<unknown>) =>
    sql.join(Object.entries(counts).map(([count, change]) => write(sql.id(count), sql.id(change))));
  const adding = sql`
    with turn as materialized (
      select id from ${into} where id in (select ${id} from ${from}) order by id for no key update skip locked
    ), due as materialized (
      select id from ${from} c where ${id} in (select id from turn)
        or not exists (select from ${into} t where t.id = c.${id})
      for update skip locked
    ), summed as (
      delete from ${from} where id = any(array(select id from due)) returning ${id}, ${each((_, change) => change)}
    )
    update ${into} t set ${each((count, change) => sql`${count} = t.${count} + s.${change}`)} from (
      select ${id}, ${each((_, change) => sql`sum(${change}) as ${change}`)} from summed group by ${id}
    ) s where t.id = s.${id} and (${each((_, change) => sql`s.${change}`)}) <> (${each(() => sql`0`)})`;
  return {
    name,
    every: 10 * second,
    async run({ database: { db } }: { database: Pick<Database, "db"> }): Promise<void> {
      await adding.execute(db);
    },
  };
}
