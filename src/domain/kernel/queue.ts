import { setTimeout as delay } from "node:timers/promises";
import { type SelectQueryBuilder, sql } from "kysely";
import type { Logger } from "pino";
import { second } from "../../runtime/durations.js";

/**
 * A queue in a table of an area. The transactions that cause work insert rows; processes lease them, by the clock of the
 * database. A result counts only while the lease of its attempt lasts. So each row is processed at least once, and more
 * than once only if a process ended before it could store a result.
 */
export interface Queue<Item, Result> {
  /** Leases up to `most` rows that are due. */
  lease(most: number): Promise<Item[]>;
  /** Stores the results of attempts, except for those whose lease has expired. */
  settle(attempts: ReadonlyArray<Attempt<Item, Result>>): Promise<unknown>;
  /** Ends leases that have expired, because their process ended, and rows that are too old. Default: `lease` takes them. */
  reap?(): Promise<unknown>;
}

/** An attempt that has ended. */
export interface Attempt<Item, Result> {
  item: Item;
  result: Result;
  /** Milliseconds. */
  duration: number;
}

/**
 * The ids of the first rows of a query, which it locks: `where("id", "=", claimIds(…))`. It leaves out rows that another
 * transaction has locked, so processes that look for work at the same time find different rows. `of` names the table whose
 * rows are locked. Default: all of the query.
 */
export function claimIds<DB, Table extends keyof DB & string>(
  ids: SelectQueryBuilder<DB, Table, { id: string }>,
  most: number,
  of?: Table,
) {
  const first = ids.limit(most);
  const locked = of ? first.forNoKeyUpdate(of) : first.forNoKeyUpdate();
  return sql<string>`any(array(${locked.skipLocked()}))`;
}

/** Returns the delay before the next attempt: it doubles with each failure. */
export const backOff = (failures: number, { first, most }: { first: number; most: number }): number =>
  Math.min(most, first * 2 ** Math.min(failures, 30));

export interface WorkerOptions<Item, Result> {
  queue: Queue<Item, Result>;
  /** Makes one attempt. The signal is aborted when it takes too long or the process ends. Never rejects. */
  attempt: (item: Item, signal: AbortSignal) => Promise<Result>;
  /** Whether attempts can be made now. While they cannot, rows wait. Default: always. */
  isAble?: () => boolean;
  /** Maximum number of attempts at a time, in addition to slow ones. */
  concurrency: number;
  /** Milliseconds after which the queue is read again although no hint has arrived. */
  interval: number;
  /** Timeout of an attempt in milliseconds: less than the lease. */
  timeout: number;
  log: Logger;
}

/** Milliseconds for which results are collected, to be stored in one statement. */
const settleDelay = 5;

/**
 * Milliseconds after which results that could not be stored are stored again: after a conflict of locks, and while the database
 * restarts. Otherwise the attempts would be made again, and receivers would get everything twice.
 */
const settleRetries = [second / 4, 2 * second, 10 * second];

/** Milliseconds after which an attempt is slow: it no longer counts as concurrent, so that hanging attempts delay no others. */
const slowAfter = 2_000;

/** Maximum number of slow attempts, as a multiple of `concurrency`. Beyond it, slow attempts count as concurrent. */
const slowShare = 4;

/** Milliseconds that attempts in progress have when the process ends. */
const shutdownTimeout = 5_000;

/** Works on a queue in the background, together with the workers of other processes. */
export class Worker<Item, Result> {
  readonly #running = new Set<Promise<void>>();
  /** Those of `#running` that are slow. */
  readonly #slow = new Set<Promise<void>>();
  /** Attempts whose results are not stored yet. */
  #ended: Array<Attempt<Item, Result>> = [];
  #settling: Promise<void> | undefined;
  readonly #aborting = new AbortController();
  #isStopping = false;
  #isReading = false;
  /** Whether there may be rows that were not seen yet. */
  #isHinted = false;
  /** Whether leases may have expired since the last look. */
  #isReapDue = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: WorkerOptions<Item, Result>) {}

  start(): void {
    const tick = () => {
      this.#isReapDue = true;
      this.wake();
    };
    this.#timer = setInterval(tick, this.options.interval).unref();
    tick();
  }

  /** Reads the queue: to be called after a hint that there is work. */
  wake = (): void => {
    this.#isHinted = true;
    if (!this.#isReading && !this.#isStopping) void this.#read();
  };

  /** Waits for the attempts in progress, aborts them after a timeout, and stores their results. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    await Promise.race([Promise.all(this.#running), delay(shutdownTimeout, undefined, { ref: false })]);
    this.#aborting.abort();
    await Promise.all(this.#running);
  }

  /** Leases rows as long as there are any, and further attempts can be made. */
  async #read(): Promise<void> {
    const { queue, concurrency, log, isAble = () => true } = this.options;
    this.#isReading = true;
    try {
      while (this.#isHinted && !this.#isStopping && isAble()) {
        const room = concurrency - (this.#running.size - this.#slow.size);
        // Waits until it can take several rows: each read costs a statement.
        if (room < concurrency / 2) return;
        this.#isHinted = false;
        if (this.#isReapDue) await queue.reap?.();
        this.#isReapDue = false;
        const items = await queue.lease(room);
        for (const item of items) this.#begin(item);
        this.#isHinted ||= items.length === room;
      }
    } catch (error) {
      log.warn({ err: error }, "A queue could not be read. It is read again later.");
    } finally {
      this.#isReading = false;
    }
  }

  #begin(item: Item): void {
    const running = this.#attempt(item).finally(() => {
      clearTimeout(timer);
      this.#running.delete(running);
      this.#slow.delete(running);
      if (this.#isHinted) this.wake();
    });
    this.#running.add(running);
    const timer = setTimeout(() => this.#setAside(running), slowAfter).unref();
  }

  #setAside(running: Promise<void>): void {
    if (this.#slow.size >= this.options.concurrency * slowShare) return;
    this.#slow.add(running);
    if (this.#isHinted) this.wake();
  }

  async #attempt(item: Item): Promise<void> {
    const begun = performance.now();
    const signal = AbortSignal.any([this.#aborting.signal, AbortSignal.timeout(this.options.timeout)]);
    const result = await this.options.attempt(item, signal);
    this.#ended.push({ item, result, duration: performance.now() - begun });
    await (this.#settling ??= this.#settle());
  }

  async #settle(): Promise<void> {
    await delay(settleDelay);
    const ended = this.#ended;
    this.#ended = [];
    this.#settling = undefined;
    const { queue, log } = this.options;
    const { signal } = this.#aborting;
    const waits = settleRetries.values();
    for (;;)
      try {
        await queue.settle(ended);
        return;
      } catch (error) {
        const { value: wait } = waits.next();
        if (wait === undefined || signal.aborted)
          return log.warn({ err: error }, "Results of a queue could not be stored. The attempts are made again.");
        log.info({ err: error }, "Results of a queue could not be stored. They are stored again.");
        await delay(wait, undefined, { signal }).catch(() => {});
      }
  }
}
