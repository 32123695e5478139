import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Response, ResponseReader } from "../responses.js";

/** A request, and what follows from its response. */
export interface Exchange {
  bytes: string;
  /** Takes the body of a success. Its promise resolves when everything has ended that the request began. */
  received?(body: string): Promise<void> | void;
  /** Called if the request or what followed failed. If it was sent, the server may have done it all the same. */
  failed?(isSent: boolean): void;
}

/** The request was not sent. */
class NotSent extends Error {}

/** One kind of operation. */
export interface Kind {
  name: string;
  perSecond: number;
  /** The next operation; undefined if there is nothing that it could be done with. */
  next(): Exchange | undefined;
}

/** How the operations of a kind went. */
export class Outcome {
  /** Milliseconds from the moment at which an operation was due to its response. */
  readonly times: number[] = [];
  /** The same to the end of everything that it began, if that is later than the response. */
  readonly ends: number[] = [];
  /** Failures by their message. */
  readonly faults = new Map<string, number>();

  addFault(message: string): void {
    this.faults.set(message, (this.faults.get(message) ?? 0) + 1);
  }

  get faultCount(): number {
    return [...this.faults.values()].reduce((sum, count) => sum + count, 0);
  }
}

export type Outcomes = ReadonlyMap<string, Outcome>;

/** Milliseconds for a response, for all that is pending when a run ends, and for what is pending even then. */
const responseTimeout = 20_000;
const drainTimeout = 30_000;
const lastTimeout = 120_000;

/** Milliseconds after which an idle connection is not used again: before the server closes it. */
const idleTime = 2_000;

/** Pending requests per server beyond which further ones fail. */
const most = 400;

/** Requests to servers in turn: at times of their own (open loop), or one after the other (closed loop). */
export class Clients implements Disposable {
  readonly #lines: Line[] = [];
  readonly #idle: Line[][];
  readonly #open: number[];
  /** Operations that have not ended. */
  readonly #pending = new Set<Promise<void>>();
  #turn = 0;

  constructor(private readonly urls: readonly URL[]) {
    this.#idle = urls.map(() => []);
    this.#open = urls.map(() => 0);
  }

  /** Sends a request, by default to the next server. Resolves to the body of a success, rejects otherwise. */
  async ask(bytes: string, server = this.#turn++ % this.urls.length): Promise<string> {
    const line = await this.#take(server);
    const { status, body } = await line.ask(bytes);
    line.idleSince = performance.now();
    this.#idle[server]!.push(line);
    if (status >= 300 || body.includes('"errors":[{')) throw new Error(`${status} ${body.slice(0, 300)}`);
    return body;
  }

  /**
   * Begins each kind's operations at its rate times `factor`, at random moments, whether or not earlier ones have ended.
   * Waits for them; those that take too long count as failures, and go on.
   */
  async run(kinds: readonly Kind[], factor: number, milliseconds: number): Promise<Outcomes> {
    const outcomes = new Map(kinds.map(({ name }) => [name, new Outcome()]));
    const pending = new Map<Promise<void>, string>();
    const gap = ({ perSecond }: Kind) => (-Math.log(1 - random()) * 1_000) / (perSecond * factor);
    const begun = performance.now();
    const dues = kinds.map((kind) => begun + gap(kind));
    for (let now = begun; now < begun + milliseconds; now = performance.now()) {
      for (const [nr, kind] of kinds.entries())
        for (; dues[nr]! <= now; dues[nr]! += gap(kind)) {
          const doing = this.#perform(kind, outcomes.get(kind.name)!, dues[nr]!).finally(() => pending.delete(doing));
          pending.set(doing, kind.name);
        }
      await sleep(1);
    }
    const timedOut = await Promise.race([
      Promise.all(pending.keys()),
      sleep(drainTimeout, "timed out", { ref: false }),
    ]);
    if (timedOut === "timed out")
      for (const name of pending.values()) outcomes.get(name)!.addFault(`It has not ended after ${drainTimeout} ms.`);
    return outcomes;
  }

  /** Waits for everything that has begun. */
  async settled(): Promise<void> {
    await inTime(lastTimeout, Promise.all(this.#pending), () => `${this.#pending.size} operations do not end.`);
  }

  /** Performs operations of one kind, `concurrent` at a time, each after the end of the one before. */
  async repeat(kind: Kind, concurrent: number, milliseconds: number): Promise<Outcome> {
    const outcome = new Outcome();
    const end = performance.now() + milliseconds;
    const loop = async () => {
      while (performance.now() < end) await this.#perform(kind, outcome, performance.now());
    };
    const all = Promise.all(Array.from({ length: concurrent }, loop));
    await inTime(milliseconds + drainTimeout, all, () => `Operations of the kind ${kind.name} do not end.`);
    return outcome;
  }

  [Symbol.dispose](): void {
    for (const line of this.#lines) line.close();
  }

  #perform(kind: Kind, outcome: Outcome, due: number): Promise<void> {
    const doing = this.#carryOut(kind, outcome, due).finally(() => this.#pending.delete(doing));
    this.#pending.add(doing);
    return doing;
  }

  async #carryOut(kind: Kind, outcome: Outcome, due: number): Promise<void> {
    const exchange = kind.next();
    try {
      if (!exchange) throw new Error("There is nothing to do it with.");
      const body = await this.ask(exchange.bytes);
      outcome.times.push(performance.now() - due);
      const following = exchange.received?.(body);
      if (following === undefined) return;
      await following;
      outcome.ends.push(performance.now() - due);
    } catch (error) {
      outcome.addFault((error as Error).message);
      exchange?.failed?.(!(error instanceof NotSent));
      // So that a closed loop does not spin.
      await sleep(10);
    }
  }

  async #take(server: number): Promise<Line> {
    const idle = this.#idle[server]!;
    for (let line = idle.pop(); line; line = idle.pop()) {
      if (line.isOpen && performance.now() - line.idleSince < idleTime) return line;
      line.close();
    }
    if (this.#open[server]! >= most) throw new NotSent(`${most} requests of a server are pending.`);
    this.#open[server]!++;
    const line = await Line.open(this.urls[server]!, () => this.#open[server]!--);
    this.#lines.push(line);
    return line;
  }
}

/** One connection with at most one pending request. */
class Line {
  idleSince = 0;
  #take: ((response: Response) => void) | undefined;
  #fail: ((error: Error) => void) | undefined;

  private constructor(private readonly socket: Socket) {
    const reader = new ResponseReader((response) => this.#take?.(response));
    socket.on("data", (chunk) => {
      try {
        reader.push(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.setTimeout(responseTimeout, () => socket.destroy(new Error(`No response in ${responseTimeout} ms.`)));
    socket.on("error", (error) => this.#fail?.(error));
    socket.on("close", () => this.#fail?.(new Error("The server closed the connection.")));
  }

  static open(url: URL, onClose: () => void): Promise<Line> {
    const { promise, resolve, reject } = Promise.withResolvers<Line>();
    const socket = connect(Number(url.port), url.hostname, () => resolve(new Line(socket)));
    socket.setNoDelay(true).once("error", reject).once("close", onClose);
    return promise;
  }

  get isOpen(): boolean {
    return this.socket.writable && !this.socket.destroyed;
  }

  ask(bytes: string): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    this.#take = resolve;
    this.#fail = reject;
    this.socket.write(bytes, "latin1");
    return promise;
  }

  close(): void {
    this.#fail = undefined;
    this.socket.destroy();
  }
}

/** Rejects with what `late` says if the work takes longer. */
export async function inTime<Result>(milliseconds: number, work: Promise<Result>, late: () => string): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(late())), milliseconds);
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
