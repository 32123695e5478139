import { type Database, statement } from "../kernel/database.js";

/** The unfinished rows of each queue. */
interface QueueLengths {
  notifications: number;
  provisioner_jobs: number;
  task_inputs: number;
}

/** Counting stops there, so that the cost is bounded. */
const most = 10_000;

/** Counts rows by a partial index, whose condition this is. */
const counted = (table: string, condition: string) =>
  `(select count(*)::int from (select from ${table} where ${condition} limit ${most}) open)`;

const count = statement<QueueLengths>(`
  select
    ${counted("notification_messages", "state in ('pending', 'temporary_failure', 'leased')")} as notifications,
    ${counted("provisioner_jobs", "status in ('pending', 'running', 'canceling')")} as provisioner_jobs,
    ${counted("task_messages", "state in ('queued', 'delivering')")} as task_inputs`);

/** Milliseconds to wait for the database. */
const patience = 2_000;

/** Counts the unfinished rows of the queues of the deployment; nothing if the database does not respond. */
export async function queueLengths(database: Database): Promise<Partial<QueueLengths>> {
  const { promise: late, resolve } = Promise.withResolvers<Partial<QueueLengths>>();
  const timer = setTimeout(resolve, patience, {});
  const counting = database.query(count, []).then(
    ([row]) => row!,
    () => ({}),
  );
  return Promise.race([counting, late]).finally(() => clearTimeout(timer));
}
