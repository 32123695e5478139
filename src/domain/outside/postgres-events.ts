import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { reasonOf } from "../kernel/availability.js";
import type { Hint, Topic } from "../kernel/events.js";
import { InProcessEvents } from "./in-process-events.js";
import { PostgresChannel } from "./postgres-channel.js";

const closingTimeout = 1_000;

/** Milliseconds from one attempt to connect to the next: doubling up to a limit, each replica in its own rhythm. */
const backOff = (failures: number) => Math.min(5_000, 100 * 2 ** failures) * (0.5 + Math.random() / 2);

const atMost = (milliseconds: number, work: Promise<void> | undefined) =>
  Promise.race([work, delay(milliseconds, undefined, { ref: false })]);

export interface PostgresEventsOptions {
  connectionString: string;
  log: Logger;
}

/**
 * Hints for all replicas on one database, by LISTEN and NOTIFY over one connection of each replica. It must be direct,
 * not by way of a pooler that changes sessions between transactions. It is made and repaired in the background: without
 * Postgres a replica hears itself, and as soon as it is connected it sends what waited and looks again.
 */
export class PostgresEvents extends InProcessEvents {
  readonly #options: PostgresEventsOptions;
  readonly #outbox = new Outbox();
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #channel: PostgresChannel | undefined;
  #sending: Promise<void> | undefined;
  /** Connections since the last one that proved to live. */
  #failures = 0;
  /** Whether the log says that hints are not received. */
  #isLost = false;

  constructor(options: PostgresEventsOptions) {
    super(options);
    this.#options = options;
    this.#running = this.#stayConnected();
  }

  override publish(...hints: Hint[]): void {
    super.publish(...hints);
    this.#outbox.add(hints);
    this.#send();
  }

  override async close(): Promise<void> {
    await atMost(closingTimeout, this.#sending);
    this.#closing.abort();
    this.#channel?.stop();
    await atMost(closingTimeout, this.#running);
    await super.close();
  }

  async #stayConnected(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#session();
      } catch (error) {
        const retryIn = backOff(this.#failures++);
        this.#noteLoss(error);
        await delay(retryIn, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #session(): Promise<void> {
    const channel = (this.#channel = new PostgresChannel(this.#options.connectionString, "steward_hints"));
    try {
      await channel.open((payload) => this.#receive(payload));
      if (this.#closing.signal.aborted) return;
      // What was hinted while the connection was away is lost.
      this.publishGap();
      this.#send();
      this.#noteReturn();
      await channel.watch(() => (this.#failures = 0));
    } finally {
      await channel.close();
    }
  }

  /** Logs the first of a row of failures: the next attempts fail for the same reason. */
  #noteLoss(error: unknown): void {
    if (!this.#isLost)
      this.#options.log.warn({ reason: reasonOf(error) }, "The connection for hints of other replicas is lost.");
    this.#isLost = true;
  }

  #noteReturn(): void {
    if (this.#isLost) this.#options.log.info("The connection for hints of other replicas is back.");
    this.#isLost = false;
  }

  #receive(payload: string): void {
    try {
      for (const [topic, id] of JSON.parse(payload) as Entry[]) {
        if (topic === everything) this.publishGap();
        else super.publish({ topic, id });
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, "A hint of another replica could not be read.");
      this.publishGap();
    }
  }

  /** One statement is under way at most; what is published meanwhile goes out together in the next. */
  #send(): void {
    if (this.#channel?.isOpen && !this.#outbox.isEmpty) this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#channel?.isOpen && !this.#outbox.isEmpty) {
      const batch = this.#outbox.take();
      try {
        await this.#channel.notify(toPayload(batch));
      } catch {
        // The session ends with this failure and reports it; the next one sends the batch again.
        this.#outbox.putBack(batch);
      }
    }
    this.#sending = undefined;
  }
}

/** A hint as it travels. The topic `*` names nothing: look at everything again. */
type Entry = readonly [topic: Topic | typeof everything, id: string];

const everything = "*";
const gap = JSON.stringify([everything, ""] satisfies Entry);

/** Postgres takes less than 8,000. */
const payloadBytes = 7_000;

const toPayload = (entries: string[]) => `[${entries.join()}]`;

/** The hints that wait to be sent, each once. When they are too many to name, all replicas look at everything again. */
class Outbox {
  static readonly capacity = 10_000;
  static readonly idLength = 128;
  readonly #entries = new Set<string>();

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  add(hints: Hint[]): void {
    this.putBack(hints.map(({ topic, id }) => (id.length > Outbox.idLength ? gap : JSON.stringify([topic, id]))));
  }

  putBack(entries: string[]): void {
    for (const entry of entries) this.#entries.add(entry);
    if (this.#entries.size <= Outbox.capacity) return;
    this.#entries.clear();
    this.#entries.add(gap);
  }

  /** Takes out as many as fit into one payload. */
  take(): string[] {
    const batch: string[] = [];
    let bytes = "[]".length;
    for (const entry of this.#entries) {
      bytes += Buffer.byteLength(entry) + ",".length;
      if (bytes > payloadBytes) break;
      this.#entries.delete(entry);
      batch.push(entry);
    }
    return batch;
  }
}
