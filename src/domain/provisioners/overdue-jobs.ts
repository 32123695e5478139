import { sql, type SqlBool } from "kysely";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { quote } from "../kernel/errors.js";
import { newId } from "../kernel/ids.js";
import { now } from "../kernel/queries.js";
import { claimIds } from "../kernel/queue.js";
import { daemonHint, jobFields, workHint } from "./provisioner-jobs.js";
import { isWaiting, matchedProvisionersOf } from "./matching.js";
import { jobEnded, withoutLease, handedBack } from "./ended-jobs.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const j = columnsOf("provisionerJobs", "j");

// Jobs that wait or run for too long: hung daemons, daemons that did not accept, and jobs that no daemon takes.

/** The condition that the job `j` was handed out to a daemon, or runs on it. It has an index. */
const isHeldByDaemon = sql<SqlBool>`(${j.workerId} is not null and ${j.completedAt} is null)`;

/** Takes back jobs that were handed out and not accepted in time. */
export const unacceptedJobs = {
  name: "take back provisioner jobs that no daemon accepted",
  every: 3_000,
  async run({ database, events }: Services): Promise<void> {
    const { db } = database;
    const late = db
      .selectFrom("provisionerJobs as j")
      .where(isHeldByDaemon)
      .where("j.status", "=", "pending")
      .where("j.leaseExpiresAt", "<=", now)
      .select("j.id");
    const released = await db
      .updateTable("provisionerJobs as j")
      .set((eb) => ({ ...handedBack, refusedBy: eb.ref("j.workerId") }))
      .where("j.id", "=", claimIds(late, 1000))
      .returning("j.organizationId")
      .execute();
    events.publish(...released.map(({ organizationId }) => workHint(organizationId)));
  },
};

/** Why an overdue job ends, for its log and its error. */
const reasons = {
  waited: "No provisioner daemon accepted the job in time",
  hung: "The provisioner daemon stopped reporting.",
  tooLong: "The job ran longer than the server allows.",
  uncanceled: "The provisioner daemon did not stop the job in time after its cancellation.",
} as const;

/** Ends jobs that are overdue. */
export const jobReaper = {
  name: "end overdue provisioner jobs",
  every: 30_000,
  async run(services: Services): Promise<void> {
    // Jobs that could not be ended. They are skipped, so that the other jobs are still ended.
    const passed: string[] = [];
    while (await endNext(services, passed));
  },
};

/** Ends an overdue job in a transaction of its own. Returns false if there is none. */
async function endNext(services: Services, passed: string[]): Promise<boolean> {
  const ctx = systemContext(services);
  let id: string | undefined;
  try {
    return await ctx.transactional(async () => {
      const overdue = await lockOverdue(ctx, passed);
      if (!overdue) return false;
      id = overdue.id;
      await endOverdue(ctx, overdue);
      return true;
    });
  } catch (error) {
    if (id === undefined) throw error;
    passed.push(id);
    services.log.error({ err: error, jobId: id }, "An overdue job could not be ended; it is tried again later.");
    return true;
  }
}

/** The condition that some milliseconds have passed since a time. */
const passedSince = (column: string, milliseconds: number) =>
  sql<SqlBool>`${sql.ref(column)} <= now() - make_interval(secs => ${milliseconds / 1000})`;

/** Locks the oldest overdue job that no other replica ends. */
function lockOverdue(ctx: Context, passed: readonly string[]) {
  const { jobPendingTimeout, jobCancelTimeout, jobMaxRuntime } = ctx.config;
  const isStale = passedSince("j.createdAt", jobPendingTimeout);
  const isUncanceled = sql<SqlBool>`(j.status = 'canceling' and ${passedSince("j.canceledAt", jobCancelTimeout)})`;
  const isTooLong = passedSince("j.startedAt", jobMaxRuntime);
  return (
    ctx.db
      .selectFrom("provisionerJobs as j")
      // Read by the indexes of jobs that wait, and of those that daemons hold.
      .where(
        sql<SqlBool>`j.id = any(array(
          select j.id from provisioner_jobs j where ${isWaiting} and ${isStale}
          union all select j.id from provisioner_jobs j where ${isHeldByDaemon}))`,
      )
      .where("j.completedAt", "is", null)
      .where("j.id", "<>", sql<string>`all(${passed}::uuid[])`)
      .where(
        sql<SqlBool>`case when j.status = 'pending' then ${isStale}
          else ${j.leaseExpiresAt} <= now() or ${isTooLong} or ${isUncanceled} end`,
      )
      .select([
        "j.id",
        "j.status",
        "j.logSequence",
        sql<keyof typeof reasons>`case when j.status = 'pending' then 'waited' when ${isUncanceled} then 'uncanceled'
          when ${isTooLong} then 'tooLong' else 'hung' end`.as("reason"),
      ])
      .orderBy("j.createdAt")
      .limit(1)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst()
  );
}

type Overdue = NonNullable<Awaited<ReturnType<typeof lockOverdue>>>;

/** Says why no daemon has taken a job. */
async function whyUnserved(ctx: Context, id: string): Promise<string> {
  const [[matched], job] = await Promise.all([
    matchedProvisionersOf(ctx, [id]),
    ctx.db
      .selectFrom("provisionerJobs")
      .select(["provisioner", "tags", "pinnedDaemonId"])
      .where("id", "=", id)
      .executeTakeFirstOrThrow(),
  ]);
  const { count, available } = matched!;
  if (available > 0) return "those that could take it were busy, or did not respond.";
  if (count > 0)
    return job.pinnedDaemonId === null
      ? "those that could take it are offline."
      : "the one that has the workspace is offline.";
  const tags = Object.entries(job.tags).filter(([key, value]) => key !== "owner" && value !== "organization");
  const wanted = tags.map(([key, value]) => `${key}=${value}`).join(", ");
  return `none of the organization offers ${quote(job.provisioner)}${wanted && ` with the tags ${wanted}`}.`;
}

async function endOverdue(ctx: Context, { id, status: former, logSequence, reason }: Overdue): Promise<void> {
  const outcome = reason === "uncanceled" ? "canceled" : "failed";
  const error = reason === "waited" ? `${reasons.waited}: ${await whyUnserved(ctx, id)}` : reasons[reason];
  const sequence = logSequence + 1;
  await ctx.db
    .insertInto("provisionerJobLogs")
    .values({
      jobId: id,
      sequence,
      id: newId(),
      createdAt: now,
      level: "error",
      source: "provisioner_daemon",
      output: error,
    })
    .execute();
  const job = await ctx.db
    .updateTable("provisionerJobs as j")
    .set({ ...withoutLease, status: outcome, error, logSequence: sequence })
    .where("j.id", "=", id)
    .returning(jobFields)
    .executeTakeFirstOrThrow();
  await jobEnded(ctx, job, outcome, former);
  if (job.workerId !== null) ctx.publish(daemonHint(job.workerId));
}
