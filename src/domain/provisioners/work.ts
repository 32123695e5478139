import { authorizeMachine } from "../authorization/authorization.js";
import type { ProvisionerActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict } from "../kernel/errors.js";
import { type Watch, watching } from "../kernel/watching.js";
import { type AssignedJob, assignWork, batchSize, returnWork } from "./assignment.js";
import { daemonHint } from "./ends.js";
import { workHint } from "./jobs.js";
import { authorizeServing } from "./serving.js";

/** An event for a daemon. */
export type WorkEvent =
  | (AssignedJob & { __typename: "ProvisionerJobAssigned" })
  | { __typename: "ProvisionerJobCancelRequested"; jobId: string }
  | { __typename: "ProvisionerDrainRequested"; reason: string };

const mostSlots = 64;

/** The connections that receive work: one stream each. */
const receiving = new WeakSet<ProvisionerActor>();

/**
 * Streams work to the calling daemon, which runs at most `slots` jobs at a time: jobs, requests to cancel one, and before
 * the server stops the request to connect again. A rejected call throws before this resolves.
 */
export async function receiveWork(ctx: Context, { slots }: { slots: number }): Promise<Watch<WorkEvent>> {
  const daemon = callingDaemon(ctx);
  /** Jobs of which the daemon knows that it must cancel them. */
  let canceled = new Set<string>();

  return watching<ProvisionerActor, WorkEvent>(ctx, {
    while: callingDaemon,
    hints: () => [workHint(daemon.organizationId), daemonHint(daemon.id)],
    period: 5,
    onBegin() {
      if (slots < 1 || slots > mostSlots)
        throw badInput([{ field: "slots", detail: `Must be a whole number from 1 to ${mostSlots}.` }]);
      if (receiving.has(daemon)) throw conflict("This connection receives work already.");
      receiving.add(daemon);
      return [];
    },
    async read(fresh) {
      const { assigned, cancelRequested } = await assignWork(fresh, daemon, slots);
      const events: WorkEvent[] = cancelRequested
        .filter((jobId) => !canceled.has(jobId))
        .map((jobId) => ({ __typename: "ProvisionerJobCancelRequested", jobId }));
      canceled = new Set(cancelRequested);
      for (const job of assigned) events.push({ __typename: "ProvisionerJobAssigned", ...job });
      return { events, isMore: assigned.length === batchSize };
    },
    onUnsent: (events) => returnUnsent(ctx, daemon, events),
    onFailure: (error) =>
      ctx.log.warn({ err: error, daemonId: daemon.id }, "Work could not be assigned. It is tried again."),
    onEnd() {
      receiving.delete(daemon);
      const isRestart = ctx.signal.reason === "restart";
      return isRestart ? [{ __typename: "ProvisionerDrainRequested", reason: "The server restarts." }] : [];
    },
  });
}

/** The calling daemon. Throws FORBIDDEN for other callers, and for a daemon whose user may not connect it any more. */
function callingDaemon({ actor }: Context): ProvisionerActor {
  const daemon = authorizeMachine(actor, "provisioner_job:work");
  authorizeServing(daemon);
  return daemon;
}

/** Returns jobs that the daemon has not received, so that they do not wait until their lease expires. */
function returnUnsent({ services, log }: Context, daemon: ProvisionerActor, events: readonly WorkEvent[]): void {
  const jobIds = events.flatMap((event) => (event.__typename === "ProvisionerJobAssigned" ? [event.jobId] : []));
  if (jobIds.length === 0) return;
  returnWork(services, daemon, jobIds).catch((error: unknown) =>
    log.warn({ err: error, jobIds }, "Jobs were not returned to the queue. They wait for their lease."),
  );
}
