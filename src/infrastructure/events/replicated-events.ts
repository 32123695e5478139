import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { reasonOf } from "../database/availability.js";
import { StartRefused } from "../../runtime/errors.js";
import type { GapReason, Hint, Topic } from "../../runtime/events.js";
import { type Channel, responseTimeout } from "./channel.js";
import { InProcessEvents } from "./in-process-events.js";

const closingTimeout = 1_000;

/** Milliseconds between attempts to connect: exponential back-off with jitter, at most 5 s. */
const backOff = (failures: number) => Math.min(5_000, 100 * 2 ** failures) * (0.5 + Math.random() / 2);

/** Milliseconds between gaps that messages of others cause, each of which lets all subscribers read the database. */
const betweenGaps = 250;

/** Milliseconds between lines in the log about unreadable messages. */
const betweenLines = 60_000;

const atMost = (milliseconds: number, work: Promise<unknown> | undefined) =>
  Promise.race([work, delay(milliseconds, undefined, { ref: false })]);

/**
 * Delivers hints to all replicas over a channel, which is opened and reopened in the background. While it is down, a
 * replica receives only its own hints; after a reconnect it sends the queued hints and reports a gap to its subscribers.
 */
export class ReplicatedEvents extends InProcessEvents {
  readonly #connect: (deployment: string) => Channel;
  readonly #log: Logger;
  readonly #outbox = new Outbox();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #channel: Channel | undefined;
  #sending: Promise<void> | undefined;
  /** Failed sessions since the last successful probe. */
  #failures = 0;
  /** Whether the loss of the connection has been logged. */
  #isLost = false;
  #isConnected = false;
  /** When subscribers were last notified of a gap that a message caused, and the timer of the next notification. */
  #lastGap = -Infinity;
  #nextGap: NodeJS.Timeout | undefined;
  /** When an unreadable message was last logged, and how many have come since. */
  #lastLine = -Infinity;
  #unlogged = 0;

  constructor(connect: (deployment: string) => Channel, log: Logger) {
    super({ log });
    this.#connect = connect;
    this.#log = log;
  }

  override get isConnected(): boolean {
    return this.#isConnected;
  }

  override async start(deployment: string): Promise<void> {
    const { promise: attempted, resolve, reject } = Promise.withResolvers<void>();
    this.#running = this.#stayConnected(deployment, (error) =>
      error instanceof StartRefused ? reject(error) : resolve(),
    );
    await atMost(responseTimeout, attempted);
  }

  override publish(...hints: Hint[]): void {
    super.publish(...hints);
    if (this.#outbox.add(hints)) this.gaps.add("shed");
    this.#send();
  }

  override async close(): Promise<void> {
    await atMost(closingTimeout, this.#sending);
    this.#closing.abort();
    clearTimeout(this.#nextGap);
    this.#channel?.stop();
    await atMost(closingTimeout, this.#running);
    await super.close();
  }

  /** Calls `onAttempt` after each attempt to connect, with the reason if it failed. */
  async #stayConnected(deployment: string, onAttempt: (error?: unknown) => void): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await this.#session(deployment, onAttempt);
      } catch (error) {
        onAttempt(error);
        const retryIn = backOff(this.#failures++);
        this.#noteLoss(error);
        await delay(retryIn, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #session(deployment: string, onOpen: () => void): Promise<void> {
    const channel = (this.#channel = this.#connect(deployment));
    try {
      await channel.open(
        (payload) => this.#receive(payload),
        () => this.#noteGap("missed"),
      );
      if (this.#closing.signal.aborted) return;
      this.#isConnected = true;
      // Hints of other replicas that were sent while disconnected are lost.
      this.publishGap("connected");
      this.#send();
      this.#noteReturn();
      onOpen();
      await channel.watch(() => (this.#failures = 0));
    } finally {
      this.#isConnected = false;
      await channel.close();
    }
  }

  /** Logs only the first of consecutive failures. */
  #noteLoss(error: unknown): void {
    if (!this.#isLost)
      this.#log.warn({ reason: reasonOf(error) }, "The connection for hints of other replicas is lost.");
    this.#isLost = true;
  }

  #noteReturn(): void {
    if (this.#isLost) this.#log.info("The connection for hints of other replicas is back.");
    this.#isLost = false;
  }

  #receive(payload: string): void {
    try {
      for (const [topic, id] of JSON.parse(payload) as Entry[]) {
        if (topic === everything) this.#noteGap("reported");
        else super.publish({ topic, id });
      }
    } catch (error) {
      this.#noteUnreadable(error);
      this.#noteGap("unreadable");
    }
  }

  /** Counts each gap that a message causes. Subscribers hear of the first one immediately, and of those right after it together. */
  #noteGap(reason: GapReason): void {
    this.gaps.add(reason);
    const notify = () => {
      this.#nextGap = undefined;
      this.#lastGap = performance.now();
      this.notifyOfGap();
    };
    const wait = this.#lastGap + betweenGaps - performance.now();
    if (wait <= 0 && !this.#nextGap) notify();
    else this.#nextGap ??= setTimeout(notify, Math.max(0, wait)).unref();
  }

  /** Anyone who may publish could fill the log otherwise. */
  #noteUnreadable(error: unknown): void {
    this.#unlogged++;
    if (performance.now() - this.#lastLine < betweenLines) return;
    const about = { err: error, messages: this.#unlogged };
    this.#log.warn(
      about,
      "Messages for the hints of other replicas cannot be read. Further ones are logged in a minute.",
    );
    this.#lastLine = performance.now();
    this.#unlogged = 0;
  }

  /** Sends with at most one statement in progress; hints published meanwhile are batched into the next. */
  #send(): void {
    if (this.#channel?.isOpen && !this.#outbox.isEmpty) this.#sending ??= this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    while (this.#channel?.isOpen && !this.#outbox.isEmpty) {
      const batch = this.#outbox.take(this.#channel.payloadBytes);
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

/** A hint as sent. The topic `*` reports a gap. */
type Entry = readonly [topic: Topic | typeof everything, id: string];

const everything = "*";
const gap = JSON.stringify([everything, ""] satisfies Entry);

const toPayload = (entries: string[]) => `[${entries.join()}]`;

/** Deduplicated hints that wait to be sent. Beyond its capacity they are replaced by one gap. */
class Outbox {
  static readonly capacity = 10_000;
  static readonly idLength = 128;
  readonly #entries = new Set<string>();

  get isEmpty(): boolean {
    return this.#entries.size === 0;
  }

  /** Returns whether hints were replaced by a gap. */
  add(hints: Hint[]): boolean {
    return this.putBack(
      hints.map(({ topic, id }) => (id.length > Outbox.idLength ? gap : JSON.stringify([topic, id]))),
    );
  }

  putBack(entries: string[]): boolean {
    for (const entry of entries) this.#entries.add(entry);
    if (this.#entries.size > Outbox.capacity) {
      this.#entries.clear();
      this.#entries.add(gap);
      return true;
    }
    return entries.includes(gap);
  }

  /** Removes and returns as many entries as fit into one payload. */
  take(payloadBytes: number): string[] {
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
