import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, Connection } from "../connection.js";

/** A request, and what follows from its response. */
export interface Exchange {
  bytes: string;
  /** Takes the body of a success. Its promise resolves when everything has ended that the request began. */
  received?(body: string): Promise<void> | void;
}

/** One kind of operation. */
export interface Kind {
  name: string;
  perSecond: number;
  /** The next operation. Throws if there is nothing that it could be done with. */
  next(): Exchange;
}

/** Milliseconds for all that is pending when a run ends. */
const drainTimeout = 60_000;

/** Milliseconds after which an idle connection is not used again: before the server closes it. */
const idleTime = 2_000;

/** Requests to servers in turn, at times of their own (open loop) or one after the other (closed loop). */
export class Clients implements Disposable {
  /** Connections without a pending request, by server. */
  readonly #idle: Array<Array<{ connection: Connection; since: number }>>;
  #turn = 0;

  constructor(private readonly urls: readonly URL[]) {
    this.#idle = urls.map(() => []);
  }

  /** Sends a request to the next server. Resolves to the body of a success, rejects otherwise. */
  async ask(bytes: string): Promise<string> {
    const server = this.#turn++ % this.urls.length;
    const connection = this.#takeIdle(server) ?? (await Connection.open(this.urls[server]!));
    const body = bodyOf(await connection.ask(bytes));
    this.#idle[server]!.push({ connection, since: performance.now() });
    return body;
  }

  /**
   * Begins each kind's operations at its rate, at random moments, whether or not earlier ones have ended, and waits for all of
   * them. Resolves to the milliseconds from the moment at which each operation was due to its response, by kind, and the failures.
   */
  async run(kinds: readonly Kind[], milliseconds: number) {
    const times = new Map(kinds.map(({ name }) => [name, [] as number[]]));
    const pending: Array<Promise<unknown>> = [];
    const failures: unknown[] = [];
    const gap = ({ perSecond }: Kind) => (-Math.log(1 - random()) * 1_000) / perSecond;
    const begun = performance.now();
    const dues = kinds.map((kind) => begun + gap(kind));
    for (let now = begun; now < begun + milliseconds; now = performance.now()) {
      for (const [nr, kind] of kinds.entries())
        for (; dues[nr]! <= now; dues[nr]! += gap(kind))
          pending.push(this.#perform(kind, times.get(kind.name)!, dues[nr]!).catch((error) => failures.push(error)));
      await sleep(1);
    }
    await inTime(drainTimeout, Promise.all(pending), `Operations do not end.`);
    return { times, failures };
  }

  /** Performs operations of one kind, `concurrent` at a time, each after the end of the one before. Resolves to their number. */
  async repeat(kind: Kind, concurrent: number, milliseconds: number): Promise<number> {
    const times: number[] = [];
    const end = performance.now() + milliseconds;
    const loop = async () => {
      while (performance.now() < end) await this.#perform(kind, times, performance.now());
    };
    const all = Promise.all(Array.from({ length: concurrent }, loop));
    await inTime(milliseconds + drainTimeout, all, `Operations of the kind ${kind.name} do not end.`);
    return times.length;
  }

  [Symbol.dispose](): void {
    for (const { connection } of this.#idle.flat()) connection[Symbol.dispose]();
  }

  async #perform(kind: Kind, times: number[], due: number): Promise<void> {
    try {
      const exchange = kind.next();
      const body = await this.ask(exchange.bytes);
      times.push(performance.now() - due);
      await exchange.received?.(body);
    } catch (error) {
      throw new Error(`An operation of the kind ${kind.name} failed.`, { cause: error });
    }
  }

  #takeIdle(server: number): Connection | undefined {
    const idle = this.#idle[server]!;
    for (let each = idle.pop(); each; each = idle.pop()) {
      if (each.connection.isOpen && performance.now() - each.since < idleTime) return each.connection;
      each.connection[Symbol.dispose]();
    }
    return undefined;
  }
}

/** Rejects with the message `late` if the work takes longer. */
export async function inTime<Result>(milliseconds: number, work: Promise<Result>, late: string): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(late)), milliseconds);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Numbers from 0 to 1, the same in every run (mulberry32). */
export const random = (() => {
  let state = 20_261;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
})();
