import { type RawBuilder, sql } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";

/** The number of unfinished rows of a queue. */
interface QueueLength {
  queue: "notifications" | "provisioner_jobs" | "task_inputs";
  length: number;
}

/** Counting stops there, so that the cost is bounded. */
const most = 10_000;

/** Counts rows by a partial index, whose condition this is. */
const lengthOf = (queue: QueueLength["queue"], table: string, condition: RawBuilder<unknown>) => sql`
  select ${sql.lit(queue)} as queue, count(*) as length
  from (select from ${sql.table(table)} where ${condition} limit ${sql.lit(most)}) unfinished`;

const lengths = sql<QueueLength>`
  ${lengthOf("notifications", "notification_messages", sql`state in ('pending', 'temporary_failure', 'leased')`)}
  union all ${lengthOf("provisioner_jobs", "provisioner_jobs", sql`status in ('pending', 'running', 'canceling')`)}
  union all ${lengthOf("task_inputs", "task_messages", sql`state in ('queued', 'delivering')`)}`;

/** Milliseconds to wait for the database. */
const timeout = 2_000;

/** Counts the unfinished rows of the queues of the deployment; none if the database does not respond. */
export async function queueLengths({ db }: Database): Promise<QueueLength[]> {
  const { promise: late, resolve } = Promise.withResolvers<QueueLength[]>();
  const timer = setTimeout(resolve, timeout, []);
  const counting = lengths.execute(db).then(
    ({ rows }) => rows,
    () => [],
  );
  return Promise.race([counting, late]).finally(() => clearTimeout(timer));
}
