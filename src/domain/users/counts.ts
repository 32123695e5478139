import type { Database } from "../kernel/database.js";
import { statement } from "../kernel/database.js";
import { minute } from "../kernel/purge.js";
import { type Sql, sql } from "../kernel/sql.js";

/** The number of users that lists show. Triggers keep it as the sum of its changes. */
export const numberOfUsers: Sql = sql`(select coalesce(sum(change), 0) from user_counts)`;

const sumUp = statement(`
  with summed as (
    delete from user_counts where id = any(array(select id from user_counts for update skip locked)) returning change
  )
  insert into user_counts (change) select sum(change) from summed having count(*) > 0`);

/** Replaces the changes with their sum. Replicas may do so concurrently: each skips the rows of the other. */
export const userCountJob = {
  name: "sum up the number of users",
  every: minute,
  run: async ({ database }: { database: Database }): Promise<void> => void (await database.query(sumUp, [])),
};
