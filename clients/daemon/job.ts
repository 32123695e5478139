// A job that this daemon works on: its lease, its log, and its outcome.
import { Backlog } from "../agent/backlog.js";
import { delay } from "../api/delay.js";
import type { Pace } from "../agent/pace.js";
import {
  acceptMutation,
  type Assignment,
  completeMutation,
  type DocumentResource,
  failMutation,
  type JobAssigned,
  type Json,
  type JobType,
  type LogLevel,
  type ReportedAgent,
  reportMutation,
  updateMutation,
} from "./protocol.js";
import { clipText } from "../agent/text.js";
import { OperationError } from "./transport.js";

/** Executes a mutation, on a new connection if necessary. */
export type Execute = <Data>(document: string, variables: object, signal: AbortSignal) => Promise<Data>;

/** The job cannot be done. The message is for the user who started it. */
export class JobFailed extends Error {}

/** The job was taken from this daemon, or the daemon must end. What the job created must be undone. */
export class Abandoned extends Error {}

/** The user canceled the job. */
export class Canceled extends Error {
  constructor() {
    super("The job was canceled.");
  }
}

/** The result of a successful build. */
export interface Outcome {
  /** Handed to the next build of the workspace. */
  state?: Json;
  /** Whether all builds of the workspace go to this daemon until one stops or deletes it. */
  pin?: boolean;
}

const lineBytes = 4096;
const batchLines = 100;
const errorBytes = 4096;

interface JobLine {
  sequence: number;
  createdAt: string;
  level: LogLevel;
  source: "PROVISIONER";
  stage: string;
  output: string;
}

export class Job {
  readonly id: string;
  readonly lease: string;
  readonly type: JobType;
  readonly assignment: Assignment;
  readonly #abort = new AbortController();
  readonly #lost = new AbortController();
  /** Aborted when lines of the log are not to be collected any longer. */
  readonly #hurry = new AbortController();
  readonly #lines = new Backlog<JobLine>(
    ({ stage }) => stage,
    (like, output) => ({ ...like, level: "WARN", output }),
  );
  #sequence = 0;
  #flushing: Promise<void> = Promise.resolve();
  #isFlushDue = false;
  #isLogFull = false;
  #isEnded = false;

  constructor(
    { jobId, lease, type, assignment }: JobAssigned,
    private readonly execute: Execute,
    private readonly pace: Pace,
  ) {
    this.id = jobId;
    this.lease = lease;
    this.type = type;
    this.assignment = assignment;
  }

  /** Aborted with `Canceled` or `Abandoned` when the work must stop. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether the server knows the outcome. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  cancel(): void {
    this.#abort.abort(new Canceled());
  }

  /** Gives the job up, without a report to the server. */
  abandon(reason: string): void {
    const error = new Abandoned(reason);
    this.#lost.abort(error);
    this.#hurry.abort();
    this.#abort.abort(error);
  }

  async accept(): Promise<void> {
    await this.#call(acceptMutation, {});
  }

  /** Adds a line to the job's log. It is sent with others, a moment later. */
  log(stage: string, output: string, level: LogLevel = "INFO"): void {
    if (this.#isLogFull) return;
    const createdAt = new Date().toISOString();
    const line = { createdAt, level, source: "PROVISIONER" as const, stage, output: clipText(output, lineBytes) };
    this.#lines.add({ sequence: (this.#sequence += 1), ...line });
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    const flush = async () => {
      await delay(this.pace.logBatch, this.#hurry.signal);
      await this.#flush();
    };
    // An error of the log ends the job where the work reports its outcome.
    this.#flushing = this.#flushing.then(flush).catch(() => {});
  }

  /** Reports the resources that the build leaves. Must precede their creation. Returns their agents. */
  async report(resources: DocumentResource[]): Promise<ReportedAgent[]> {
    const { agents } = await this.#call<{ agents: ReportedAgent[] }>(reportMutation, { resources });
    this.signal.throwIfAborted();
    return agents;
  }

  async complete(outcome: Outcome): Promise<void> {
    await this.#end(completeMutation, { ...outcome });
  }

  /** Reports failure, or the cancellation that was requested. Returns the status of the job. */
  async fail(error: string, canceled = false): Promise<string> {
    return this.#end(failMutation, { error: clipText(error, errorBytes) || "Failed.", ...(canceled && { canceled }) });
  }

  async #end(mutation: string, input: Json): Promise<string> {
    this.#hurry.abort();
    await this.#flushing;
    const { status } = await this.#call<{ status: string }>(mutation, input);
    this.#isEnded = true;
    return status;
  }

  async #flush(): Promise<void> {
    this.#isFlushDue = false;
    while (!this.#lines.isEmpty && !this.#isLogFull) {
      const logs = this.#lines.first(batchLines);
      const result = await this.#call<{ cancelRequested: boolean; logsOverflowed: boolean }>(updateMutation, { logs });
      this.#lines.remove(logs.length);
      this.#isLogFull = result.logsOverflowed;
      if (result.cancelRequested) this.cancel();
    }
  }

  /** Executes a mutation of the job. If the lease is lost, the job is abandoned. */
  async #call<Payload = unknown>(mutation: string, input: Json): Promise<Payload> {
    this.#lost.signal.throwIfAborted();
    const variables = { input: { jobId: this.id, lease: this.lease, ...input } };
    try {
      const data = await this.execute<Record<string, Payload>>(mutation, variables, this.#lost.signal);
      return Object.values(data)[0]!;
    } catch (error) {
      if (error instanceof OperationError && error.reason === "LEASE_LOST") {
        this.abandon("The server has taken the job from this daemon.");
        this.#lost.signal.throwIfAborted();
      }
      throw error;
    }
  }
}
