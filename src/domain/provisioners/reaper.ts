import { systemActor } from "../kernel/actor.js";
import { Context, type Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newId } from "../kernel/ids.js";
import { daemonHint, ended, type EndedRow } from "./ends.js";
import { jobColumns, type JobRow, workHint } from "./jobs.js";
import { isWaiting } from "./matching.js";
import { jobEnded } from "./outcomes.js";

/** Why a job ended, for its log and its error. */
const reasons = {
  waited: "No provisioner daemon accepted the job in time.",
  hung: "The provisioner daemon stopped reporting.",
  tooLong: "The job ran longer than the server allows.",
  uncanceled: "The provisioner daemon did not stop the job in time after its cancellation.",
} as const;

/** The condition that the job `j` was handed out to a daemon, or runs on it. It has an index. */
const isHeldByDaemon = "j.worker_id is not null and j.completed_at is null";

type Overdue = EndedRow & { outcome: "failed" | "canceled" };

// The ids are read by the indexes of jobs that wait, and of those that daemons hold. The first condition that holds
// decides.
const endOverdue = statement<Overdue>(`
  with overdue as materialized (
    select j.id, j.status,
      case when j.status = 'pending' then '${reasons.waited}'
        when j.status = 'canceling' and j.canceled_at <= now() - make_interval(secs => $2) then '${reasons.uncanceled}'
        when j.started_at <= now() - make_interval(secs => $3) then '${reasons.tooLong}'
        else '${reasons.hung}' end as reason
    from provisioner_jobs j
    where j.id = any(array(
        select j.id from provisioner_jobs j
        where ${isWaiting} and j.created_at <= now() - make_interval(secs => $1)
        union all select j.id from provisioner_jobs j where ${isHeldByDaemon}))
      and j.completed_at is null and j.id <> all($4::uuid[]) and case
      when j.status = 'pending' then j.created_at <= now() - make_interval(secs => $1)
      else j.lease_expires_at <= now() or j.started_at <= now() - make_interval(secs => $3)
        or j.status = 'canceling' and j.canceled_at <= now() - make_interval(secs => $2) end
    order by j.created_at limit 1 for update skip locked
  ), logged as (
    insert into provisioner_job_logs (job_id, sequence, id, created_at, level, source, stage, output)
    select j.id, j.log_sequence + 1, $5, now(), 'error', 'provisioner_daemon', '', overdue.reason
    from overdue join provisioner_jobs j using (id)
  )
  update provisioner_jobs j set ${ended}, log_sequence = j.log_sequence + 1,
    status = case when overdue.reason = '${reasons.uncanceled}' then 'canceled' else 'failed' end, error = overdue.reason
  from overdue where j.id = overdue.id
  returning ${jobColumns}, overdue.status as former, j.status as outcome`);

const releaseUnaccepted = statement<Pick<JobRow, "organizationId">>(`
  update provisioner_jobs j set refused_by = j.worker_id, worker_id = null, worker_name = '', lease_hash = null,
    lease_expires_at = null
  from (
    select id from provisioner_jobs j
    where ${isHeldByDaemon} and j.status = 'pending' and j.lease_expires_at <= now() limit 1000 for update skip locked
  ) late
  where j.id = late.id
  returning j.organization_id as "organizationId"`);

/** Takes back jobs that were handed out and not accepted in time. */
export const unacceptedJobs = {
  name: "take back provisioner jobs that no daemon accepted",
  every: 3_000,
  async run({ database, events }: Services): Promise<void> {
    const released = await database.query(releaseUnaccepted, []);
    events.publish(...released.map(({ organizationId }) => workHint(organizationId)));
  },
};

/** Ends jobs that are overdue. */
export const jobReaper = {
  name: "end overdue provisioner jobs",
  every: 30_000,
  async run(services: Services): Promise<void> {
    // A job whose end fails does not keep the others from theirs.
    const passed: string[] = [];
    while (await endNext(services, passed));
  },
};

/** Ends an overdue job in a transaction of its own. Returns false if there is none. */
async function endNext(services: Services, passed: string[]): Promise<boolean> {
  const { jobPendingTimeout, jobCancelTimeout, jobMaxRuntime } = services.config;
  const limits = [jobPendingTimeout, jobCancelTimeout, jobMaxRuntime].map((time) => time / 1000);
  const ctx = new Context(services, systemActor, { id: newId() }, () => new AbortController());
  let id: string | undefined;
  try {
    return await ctx.transactional(async () => {
      const overdue = await ctx.row(endOverdue, ...limits, passed, newId());
      if (!overdue) return false;
      const { former, outcome, ...job } = overdue;
      id = job.id;
      await jobEnded(ctx, job, outcome, former);
      if (job.workerId !== null) ctx.publish(daemonHint(job.workerId));
      return true;
    });
  } catch (error) {
    if (id === undefined) throw error;
    passed.push(id);
    services.log.error({ err: error, jobId: id }, "An overdue job could not be ended; it is tried again later.");
    return true;
  }
}
