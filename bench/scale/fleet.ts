import { Daemon, type Job } from "../daemon.js";
import { inTime } from "./open-loop.js";

/** An agent that a build has started, with the token with which it reports. */
export interface Agent {
  name: string;
  token: string;
}

/** Milliseconds for a connection. */
const timeout = 30_000;

/** Milliseconds within which a job must end. */
const jobTimeout = 30_000;

/** Provisioner daemons that speak the daemon protocol, on servers in turn. They do each job immediately and build nothing. */
export class Fleet implements Disposable {
  readonly #daemons: Daemon[] = [];
  readonly #jobs = new Map<string, PromiseWithResolvers<Agent[]>>();

  static async open(urls: readonly URL[], count: number, key: string, provisioner: string): Promise<Fleet> {
    const fleet = new Fleet();
    for (let nr = 0; nr < count; nr++) {
      const daemon: Daemon = new Daemon({
        url: urls[nr % urls.length]!,
        organization: "default",
        key,
        provisioner,
        name: `bench-${nr}`,
        slots: 1,
        onJob: (job) => void carryOut(daemon, job).then(...fleet.#settle(job.jobId)),
      });
      fleet.#daemons.push(daemon);
    }
    const connected = Promise.all(fleet.#daemons.map(({ ready }) => ready));
    try {
      await inTime(timeout, connected, () => "Daemons do not connect.");
    } catch (error) {
      fleet[Symbol.dispose]();
      throw error;
    }
    return fleet;
  }

  /** Resolves when the job has succeeded, to the agents that it has started. */
  ended(job: string): Promise<Agent[]> {
    return inTime(jobTimeout, this.#of(job).promise, () => `The job ${job} does not end.`).finally(() =>
      this.#jobs.delete(job),
    );
  }

  [Symbol.dispose](): void {
    for (const daemon of this.#daemons) daemon[Symbol.dispose]();
  }

  /** The job may end before or after the response that names it. */
  #of(job: string): PromiseWithResolvers<Agent[]> {
    const known = this.#jobs.get(job);
    if (known) return known;
    const made = Promise.withResolvers<Agent[]>();
    made.promise.catch(() => {});
    this.#jobs.set(job, made);
    return made;
  }

  #settle(job: string): [(agents: Agent[]) => void, (error: Error) => void] {
    return [
      (agents) => this.#of(job).resolve(agents),
      (error) => {
        // Another daemon gets a job that was accepted too late.
        if (!error.message.includes("LEASE_LOST")) this.#of(job).reject(error);
      },
    ];
  }
}

/** Lines of the log of each build. */
export const linesPerBuild = 20;

/** Carries out a build, and returns the agents that it has started. */
async function carryOut(daemon: Daemon, { jobId, lease, assignment }: Job): Promise<Agent[]> {
  const { document, transition } = assignment;
  const wanted = (transition ?? "START").toLowerCase();
  const resources = (document.resources ?? []).filter(({ transitions = ["start"] }) => transitions.includes(wanted));
  const held = { jobId, lease };
  await daemon.call("acceptProvisionerJob", "expiresAt", held);
  const { agents } = await daemon.call<{ agents: Agent[] }>("reportProvisionerResources", "agents { name token }", {
    ...held,
    resources,
  });
  const logs = Array.from({ length: linesPerBuild }, (_, nr) => ({
    sequence: nr + 1,
    createdAt: new Date().toISOString(),
    level: "INFO",
    source: "PROVISIONER",
    stage: "Apply",
    output: `box.main: Still creating... [${nr}0s elapsed]`,
  }));
  await daemon.call("updateProvisionerJob", "expiresAt", { ...held, logs });
  await daemon.call("completeProvisionerJob", "status", held);
  return agents;
}
