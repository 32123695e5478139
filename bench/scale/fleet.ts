import { type PlainAgent, plainDaemon } from "../../test/support/plain-daemon.js";
import { inTime } from "./clients.js";

/** Milliseconds within which a job must end. */
const timeout = 60_000;

/** Lines of the log of each build. */
const lines = Array.from({ length: 20 }, (_, nr) => `box.main: Still creating... [${nr}0s elapsed]`);

/** Provisioner daemons that speak the daemon protocol, on servers in turn. They do each job immediately and build nothing. */
export class Fleet implements Disposable {
  #isOver = false;
  readonly #jobs = new Map<string, PromiseWithResolvers<PlainAgent[]>>();

  constructor(urls: readonly URL[], count: number, key: string, provisioner: string) {
    for (let nr = 0; nr < count; nr++)
      void this.#serve(urls[nr % urls.length]!.origin, key, provisioner, `bench-${nr}`);
  }

  /** Resolves when the job has succeeded, to the agents that it has started. */
  ended(job: string): Promise<PlainAgent[]> {
    return inTime(timeout, this.#of(job).promise, `The job ${job} does not end.`).finally(() => this.#jobs.delete(job));
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }

  /** Serves jobs until the server closes the connection. */
  async #serve(url: string, key: string, provisioner: string, name: string): Promise<void> {
    let started: PlainAgent[] = [];
    const work = plainDaemon(url, key, provisioner, name, async (_job, log, agents) => {
      started = agents;
      await log(lines);
    });
    try {
      for await (const job of work) this.#of(job).resolve(started);
    } catch (error) {
      if (this.#isOver) return;
      // Another daemon gets a job that was accepted too late.
      if (!(error as Error).message.includes("LEASE_LOST")) throw error;
      await this.#serve(url, key, provisioner, name);
    }
  }

  /** The job may end before or after the response that names it. */
  #of(job: string): PromiseWithResolvers<PlainAgent[]> {
    const known = this.#jobs.get(job);
    if (known) return known;
    const made = Promise.withResolvers<PlainAgent[]>();
    this.#jobs.set(job, made);
    return made;
  }
}
