import { authorizeMachine } from "../authorization/authorization.js";
import type { ProvisionerActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict } from "../kernel/errors.js";
import { eagerWakeups } from "../kernel/wakeups.js";
import { type AssignedJob, assignWork, batchSize, returnWork } from "./assignment.js";
import { daemonHint } from "./ends.js";
import { workHint } from "./jobs.js";

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
export async function receiveWork(ctx: Context, slots: number): Promise<AsyncIterable<WorkEvent>> {
  const daemon = authorizeMachine(ctx.actor, "provisioner_job:work");
  if (slots < 1 || slots > mostSlots)
    throw badInput([{ field: "slots", detail: `Must be a whole number from 1 to ${mostSlots}.` }]);
  if (receiving.has(daemon)) throw conflict("This connection receives work already.");
  return new WorkStream(ctx, daemon, slots);
}

/** Not a generator, because `return()` of a waiting generator takes effect only after the wait. */
class WorkStream implements AsyncIterableIterator<WorkEvent, undefined> {
  readonly #wakes: AsyncIterator<void, void>;
  /** Events not yet consumed: a batch of jobs, and the jobs to cancel. */
  #ready: WorkEvent[] = [];
  /** Jobs of which the daemon knows that it must cancel them. */
  #canceled = new Set<string>();
  #isBatchFull = false;
  #isOver = false;

  constructor(
    private readonly ctx: Context,
    private readonly daemon: ProvisionerActor,
    private readonly slots: number,
  ) {
    receiving.add(daemon);
    const ids = [workHint(daemon.organizationId).id, daemonHint(daemon.id).id];
    this.#wakes = eagerWakeups(ctx, "jobs", ...ids)[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<WorkEvent, undefined>> {
    while (!this.#isOver) {
      const event = this.#ready.shift();
      if (event) return { done: false, value: event };
      if (this.#isBatchFull || !(await this.#wakes.next()).done) await this.#read();
      else this.#finish();
    }
    const last = this.#ready.shift();
    return last ? { done: false, value: last } : { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<WorkEvent, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #read(): Promise<void> {
    const { assigned, cancelRequested } = await this.#work();
    // The connection ended meanwhile.
    if (this.#isOver) return this.#return(assigned.map(({ jobId }) => jobId));
    this.#isBatchFull = assigned.length === batchSize;
    for (const jobId of cancelRequested)
      if (!this.#canceled.has(jobId)) this.#ready.push({ __typename: "ProvisionerJobCancelRequested", jobId });
    this.#canceled = new Set(cancelRequested);
    for (const job of assigned) this.#ready.push({ __typename: "ProvisionerJobAssigned", ...job });
  }

  /** A failure of the database does not end the stream: it is read again after the next hint, or 5 seconds. */
  async #work() {
    try {
      return await assignWork(this.ctx, this.daemon, this.slots);
    } catch (error) {
      this.ctx.log.warn({ err: error, daemonId: this.daemon.id }, "Work could not be assigned. It is tried again.");
      return { assigned: [], cancelRequested: [...this.#canceled] };
    }
  }

  /** Ends, with a last event if the server stops. */
  #finish(): void {
    this.#end();
    if (this.ctx.signal.reason === "restart")
      this.#ready.push({ __typename: "ProvisionerDrainRequested", reason: "The server restarts." });
  }

  /** Returns jobs that the daemon has not received, so that they do not wait until their lease expires. */
  #return(jobIds: readonly string[]): void {
    if (jobIds.length === 0) return;
    returnWork(this.ctx.services, this.daemon, jobIds).catch((error: unknown) =>
      this.ctx.log.warn({ err: error, jobIds }, "Jobs were not returned to the queue. They wait for their lease."),
    );
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#return(this.#ready.flatMap((event) => (event.__typename === "ProvisionerJobAssigned" ? [event.jobId] : [])));
    this.#ready = [];
    receiving.delete(this.daemon);
    void this.#wakes.return?.();
  }
}
