import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { LRUCache } from "lru-cache";
import type { NatsServers } from "./nats-url.js";
import type { Channel } from "./replicated-events.js";

/** Milliseconds. A connection that died silently is detected after the sum of both. */
const probeInterval = 4_000;
const responseTimeout = 5_000;

/** Maximum number of other channels whose messages are counted. Replicas that end leave theirs behind. */
const mostSenders = 1_000;

/**
 * A connection to NATS, which delivers at most once. Each message has the id of the sending channel and its number, so
 * that receivers notice if one before it is missing. Each probe sends the last number again.
 */
export class NatsChannel implements Channel {
  /** Far below the usual limit of NATS, 1 MiB. */
  readonly payloadBytes = 64 * 1024;
  readonly #id = randomUUID();
  readonly #ended = new AbortController();
  /** The number of the last message that was sent, and those of the last ones received, by sender. */
  #sent = 0;
  readonly #received = new LRUCache<string, number>({ max: mostSenders });
  #connection: NatsConnection | undefined;

  constructor(
    private readonly servers: NatsServers,
    private readonly subject: string,
  ) {}

  get isOpen(): boolean {
    return this.#connection !== undefined && !this.#ended.signal.aborted;
  }

  async open(onPayload: (payload: string) => void, onGap: () => void): Promise<void> {
    // Reconnecting is left to the caller, which then reports a gap.
    const options = { reconnect: false, noEcho: true, timeout: responseTimeout, name: "steward events" };
    const connection = await connect({ ...this.servers, ...options });
    void connection.closed().then((error) => this.#end(error ?? new Error("The connection was closed.")));
    connection.subscribe(this.subject, {
      callback: (error, message) => {
        if (error) this.#end(error);
        else this.#receive(message.string(), onPayload, onGap);
      },
    });
    this.#connection = connection;
    // The first one announces this channel. The server handles messages in order, so it has the subscription after it.
    await this.#publish();
  }

  async notify(payload: string): Promise<void> {
    this.#sent++;
    await this.#publish(payload);
  }

  async watch(onAlive: () => void): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await delay(probeInterval, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      await this.#publish();
      onAlive();
    }
    if (signal.reason instanceof Error) throw signal.reason;
  }

  stop(): void {
    this.#end("stopped");
  }

  async close(): Promise<void> {
    this.stop();
    await this.#connection?.close();
  }

  /** Sends the last number, with the payload if it is that of a message. Resolves when the server has accepted it. */
  async #publish(payload = ""): Promise<void> {
    const connection = this.#connection!;
    try {
      connection.publish(this.subject, `${this.#id} ${this.#sent} ${payload}`);
      await this.#inTime(connection.flush());
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  /** Rejects if the connection ends, or the server takes too long. */
  async #inTime(work: Promise<void>): Promise<void> {
    const { promise: lost, reject } = Promise.withResolvers<never>();
    const { signal } = this.#ended;
    const onEnd = () => reject(signal.reason instanceof Error ? signal.reason : new Error("The channel was stopped."));
    signal.addEventListener("abort", onEnd);
    const timer = setTimeout(() => reject(new Error("The server does not respond.")), responseTimeout);
    try {
      await Promise.race([work, lost]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onEnd);
    }
  }

  #receive(text: string, onPayload: (payload: string) => void, onGap: () => void): void {
    const [, sender = "", number = "", payload = ""] = /^([\w-]{1,64}) (\d{1,15}) (.*)$/s.exec(text) ?? [];
    const isMessage = payload !== "" || number === "";
    const [last, current] = [this.#received.get(sender), Number(number)];
    if (number !== "") this.#received.set(sender, current);
    // A message has the next number, a probe the same one.
    if (last !== undefined && current !== last + (isMessage ? 1 : 0) && number !== "") onGap();
    if (isMessage) onPayload(payload);
  }

  #end(reason: unknown): void {
    this.#ended.abort(reason);
  }
}
