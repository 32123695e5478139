import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { AttemptResult, EndedAttempt, Queue, QueueItem } from "./queue.js";

export interface WorkerOptions<Item extends QueueItem> {
  queue: Pick<Queue<Item>, "lease" | "settle">;
  /** Makes one attempt. The signal is aborted when it takes too long or the process ends. Never rejects. */
  attempt: (item: Item, signal: AbortSignal) => Promise<AttemptResult>;
  /** Whether there is a way to make attempts now. Without one, rows wait. Default: always. */
  isAble?: () => boolean;
  /** Maximum number of attempts at a time, besides slow ones. */
  concurrency: number;
  /** Milliseconds after which the queue is read again although no hint has arrived. */
  interval: number;
  /** Milliseconds that an attempt may take: less than the lease. */
  timeout: number;
  log: Logger;
}

/** Milliseconds for which results are collected, to be stored in one statement. */
const gathering = 5;

/** Milliseconds after which an attempt is slow: it makes room for another one, so that hanging attempts delay no others. */
const patience = 2_000;

/** Maximum number of slow attempts, as a multiple of `concurrency`. When it is reached, further slow ones keep their room. */
const slowShare = 4;

/** Milliseconds that attempts in progress have when the process ends. */
const farewell = 5_000;

/** Works on a queue in the background, together with the workers of other processes. */
export class Worker<Item extends QueueItem> {
  readonly #running = new Set<Promise<void>>();
  /** Those of `#running` that take long. */
  readonly #slow = new Set<Promise<void>>();
  /** Ended attempts whose results are not stored yet, by the token of their lease. */
  #ended = new Map<string, Array<EndedAttempt<Item>>>();
  #settling: Promise<void> | undefined;
  readonly #aborting = new AbortController();
  #isStopping = false;
  #isReading = false;
  /** Whether there may be rows that were not seen yet. */
  #isHinted = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: WorkerOptions<Item>) {}

  start(): void {
    this.#timer = setInterval(this.wake, this.options.interval).unref();
    this.wake();
  }

  /** Reads the queue: to be called after a hint that there is work. */
  wake = (): void => {
    this.#isHinted = true;
    if (!this.#isReading && !this.#isStopping) void this.#read();
  };

  /** Waits for the attempts in progress, aborts them after a while, and stores their results. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    await Promise.race([Promise.all(this.#running), delay(farewell, undefined, { ref: false })]);
    this.#aborting.abort();
    await Promise.all(this.#running);
  }

  /** Leases rows as long as there are any, and room for them. */
  async #read(): Promise<void> {
    const { queue, concurrency, log, isAble = () => true } = this.options;
    this.#isReading = true;
    try {
      while (this.#isHinted && !this.#isStopping && isAble()) {
        const room = concurrency - (this.#running.size - this.#slow.size);
        // With room for few rows, it waits for more: each read costs a statement.
        if (room < concurrency / 2) return;
        this.#isHinted = false;
        const { token, items } = await queue.lease(room);
        for (const item of items) this.#begin(token, item);
        this.#isHinted ||= items.length === room;
      }
    } catch (error) {
      log.warn({ err: error }, "A queue could not be read. It is read again later.");
    } finally {
      this.#isReading = false;
    }
  }

  #begin(token: string, item: Item): void {
    const running = this.#attempt(token, item).finally(() => {
      clearTimeout(timer);
      this.#running.delete(running);
      this.#slow.delete(running);
      if (this.#isHinted) this.wake();
    });
    this.#running.add(running);
    const timer = setTimeout(() => this.#setAside(running), patience).unref();
  }

  #setAside(running: Promise<void>): void {
    if (this.#slow.size >= this.options.concurrency * slowShare) return;
    this.#slow.add(running);
    if (this.#isHinted) this.wake();
  }

  async #attempt(token: string, item: Item): Promise<void> {
    const begun = performance.now();
    const signal = AbortSignal.any([this.#aborting.signal, AbortSignal.timeout(this.options.timeout)]);
    const result = await this.options.attempt(item, signal);
    const attempts = this.#ended.get(token) ?? [];
    attempts.push({ item, result, duration: performance.now() - begun });
    this.#ended.set(token, attempts);
    await (this.#settling ??= this.#settle());
  }

  async #settle(): Promise<void> {
    await delay(gathering);
    const ended = [...this.#ended];
    this.#ended = new Map();
    this.#settling = undefined;
    const { queue, log } = this.options;
    try {
      await Promise.all(ended.map(([token, attempts]) => queue.settle(token, attempts)));
    } catch (error) {
      log.warn({ err: error }, "Results of a queue could not be stored. The attempts are made again.");
    }
  }
}
