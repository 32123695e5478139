import { sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import { second } from "../../runtime/durations.js";

/** The number of users that lists show. Triggers keep it as the sum of its changes. */
export const numberOfUsers = sql<number>`(select coalesce(sum(change), 0) from user_counts)`;

/** Replaces the changes with their sum. Replicas may do so concurrently: each skips the rows of the other. */
export const userCountJob = {
  name: "sum up the number of users",
  every: 10 * second,
  run: async ({ database: { db } }: { database: Pick<Database, "db"> }): Promise<void> => {
    const free = db.selectFrom("userCounts").select("id").forUpdate().skipLocked();
    await db
      .with("summed", (cte) =>
        cte
          .deleteFrom("userCounts")
          .where("id", "=", sql<string>`any(array(${free}))`)
          .returning("change"),
      )
      .insertInto("userCounts")
      .columns(["change"])
      .expression((eb) =>
        eb
          .selectFrom("summed")
          .select(({ fn }) => fn.sum<number>("change").as("change"))
          .having(({ fn }) => fn.countAll(), ">", 0),
      )
      .execute();
  },
};
