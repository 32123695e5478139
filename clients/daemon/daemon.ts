// The loop of a daemon: keeps a connection, takes jobs, and hands them to the workers of their types.
import { Abandoned, Canceled, type Execute, Job, JobFailed } from "./job.js";
import { type Closing, type Connection, ConnectionLost } from "../api/connection.js";
import { delay } from "../api/delay.js";
import { reconnecting } from "../api/reconnecting.js";
import { pace as usual, type Pace } from "../agent/pace.js";
import { type JobAssigned, type Work, workSubscription } from "./protocol.js";
import { UnknownReference } from "./render.js";
import { OperationError, Refused, type Transport } from "./transport.js";

/** Does the jobs of one provisioner type. */
export interface Worker {
  readonly type: string;
  /**
   * Does a job, and completes it. If it throws, it has undone what it created, and the daemon reports the failure.
   * Must stop when `job.signal` is aborted.
   */
  run(job: Job): Promise<void>;
}

/** Writes a line for the operator. */
export type Log = (message: string) => void;

export interface DaemonOptions {
  transport: Transport;
  workers: readonly Worker[];
  /** Maximum number of jobs at a time. */
  slots: number;
  log: Log;
  pace?: Pace;
  /** Returns why a closed connection must not be opened again, if so. */
  finalClosing?: (closing: Closing) => Error | undefined;
}

/** Errors of operations that a repetition can avoid. */
const temporary = new Set(["UNAVAILABLE", "RATE_LIMITED"]);

export class Daemon {
  readonly #options: DaemonOptions;
  readonly #pace: Pace;
  readonly #jobs = new Map<Job, Promise<void>>();
  /** The current connection. Pending while there is none. */
  #connection = Promise.withResolvers<Connection>();
  #failed?: Error;

  constructor(options: DaemonOptions) {
    this.#options = options;
    this.#pace = options.pace ?? usual;
  }

  /**
   * Executes a mutation; if the connection ends meanwhile, again on the next one. Throws when the signal is aborted.
   */
  readonly execute: Execute = async <Data>(document: string, variables: object, signal: AbortSignal): Promise<Data> => {
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort);
    aborted.promise.catch(() => {});
    try {
      for (;;) {
        signal.throwIfAborted();
        const connection = await Promise.race([this.#connection.promise, aborted.promise]);
        try {
          return await Promise.race([connection.execute<Data>(document, variables), aborted.promise]);
        } catch (error) {
          const isTemporary = error instanceof OperationError && temporary.has(error.code);
          if (!(error instanceof ConnectionLost) && !isTemporary) throw error;
          await delay(isTemporary ? this.#pace.retry : 0, signal);
        }
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  };

  /**
   * Serves jobs until the signal is aborted and the jobs in progress have ended. Throws `Refused` if the server does
   * not accept the daemon; jobs in progress are abandoned then.
   */
  async run(stopping: AbortSignal): Promise<void> {
    const done = new AbortController();
    const onStop = () => void this.#idle().then(() => done.abort());
    if (stopping.aborted) onStop();
    else stopping.addEventListener("abort", onStop, { once: true });
    try {
      const works = reconnecting({
        connect: () => this.#connect(),
        read: (connection) => this.#received(connection, stopping),
        onLost: (error, { isOpen, pause }) => this.#reportLoss(error, isOpen, pause),
        pauses: { first: this.#pace.reconnect, most: this.#pace.reconnectMost },
        signal: done.signal,
      });
      for await (const work of works) this.#handle(work, stopping);
    } catch (error) {
      this.#failed = error as Error;
      for (const job of this.#jobs.keys()) job.abandon("The daemon cannot connect any longer.");
      await this.#idle();
      throw error;
    } finally {
      stopping.removeEventListener("abort", onStop);
    }
  }

  /** Resolves once there are no jobs. */
  async #idle(): Promise<void> {
    while (this.#jobs.size > 0) await Promise.all(this.#jobs.values());
  }

  async #connect(): Promise<Connection> {
    const connection = await this.#options.transport.connect();
    this.#options.log("Connected. Waiting for jobs.");
    this.#connection.resolve(connection);
    return connection;
  }

  /** Yields work until the connection ends, with which it throws, or until the daemon is done. */
  async *#received(connection: Connection, stopping: AbortSignal): AsyncGenerator<Work, void> {
    const { slots } = this.#options;
    try {
      const events = connection.subscribe<{ provisionerWorkReceived: Work }>(workSubscription, { slots }, stopping);
      for await (const { provisionerWorkReceived: work } of events) yield work;
      // The connection carries the reports of the jobs in progress.
      const lost = connection.closed.then((closing) => Promise.reject(new ConnectionLost(closing)));
      lost.catch(() => {});
      if (!stopping.aborted) connection.close();
      await (stopping.aborted ? Promise.race([this.#idle(), lost]) : lost);
    } finally {
      this.#connection = Promise.withResolvers();
    }
  }

  /** Throws if a new connection would fail as well. */
  #reportLoss(error: unknown, isOpen: boolean, pause: number): void {
    const { log, finalClosing } = this.#options;
    if (error instanceof Refused) throw error;
    const closing = error instanceof ConnectionLost ? error.closing : undefined;
    const final = closing && finalClosing?.(closing);
    if (final) throw final;
    if (closing && isOpen) log(`Disconnected (${closing.code}${closing.reason && ` ${closing.reason}`}).`);
    else log(`${isOpen ? "The subscription to jobs" : "Connecting"} failed: ${(error as Error).message}`);
    log(`Connecting again in ${Math.round(pause / 1000)} s.`);
  }

  #handle(work: Work, stopping: AbortSignal): void {
    // A job that is not accepted goes to another daemon.
    if (work.__typename === "ProvisionerJobAssigned" && !stopping.aborted) this.#begin(work);
    if (work.__typename === "ProvisionerJobCancelRequested")
      for (const job of this.#jobs.keys()) if (job.id === work.jobId) job.cancel();
    if (work.__typename === "ProvisionerDrainRequested") this.#options.log(`The server is stopping: ${work.reason}`);
  }

  #begin(assigned: JobAssigned): void {
    const isKnown = [...this.#jobs.keys()].some(({ id, lease }) => id === assigned.jobId && lease === assigned.lease);
    if (isKnown || this.#failed || this.#jobs.size >= this.#options.slots) return;
    const job = new Job(assigned, this.execute, this.#pace);
    this.#jobs.set(
      job,
      this.#work(job).finally(() => this.#jobs.delete(job)),
    );
  }

  /** Does a job to its end. Never throws. */
  async #work(job: Job): Promise<void> {
    const { log, workers } = this.#options;
    const { document, transition, workspace } = job.assignment;
    const what = workspace
      ? `${transition?.toLowerCase()} of ${workspace.owner.username}/${workspace.name}`
      : job.type.toLowerCase().replaceAll("_", " ");
    const name = `Job ${job.id} (${what})`;
    try {
      await job.accept();
      log(`${name} started.`);
      const worker = workers.find(({ type }) => type === document.provisioner);
      if (!worker) throw new JobFailed(`This daemon does not offer the provisioner "${document.provisioner}".`);
      await worker.run(job);
      log(`${name} succeeded.`);
    } catch (error) {
      log(`${name}: ${await this.reportEnd(job, error as Error)}`);
    }
  }

  /** Reports why a job ended. Returns a text for the log. */
  async reportEnd(job: Job, error: Error): Promise<string> {
    const reason = job.signal.aborted ? (job.signal.reason as Error) : error;
    if (reason instanceof Abandoned) return `abandoned. ${reason.message}`;
    // The server has ended the job itself, for example because the quota is exceeded.
    if (job.isEnded || (error instanceof OperationError && error.reason === "QUOTA_EXCEEDED")) return error.message;
    try {
      await job.fail(reason instanceof Canceled ? reason.message : messageOf(error), reason instanceof Canceled);
      return reason instanceof Canceled ? "canceled." : `failed. ${error.message}`;
    } catch (failure) {
      return `failed. ${error.message} The report failed: ${(failure as Error).message}`;
    }
  }
}

/** The message of a failure for the user. Defects of this program are for its operator only. */
const messageOf = (error: Error): string =>
  [JobFailed, OperationError, UnknownReference].some((kind) => error instanceof kind)
    ? error.message
    : `The provisioner failed: ${error.message}`;
