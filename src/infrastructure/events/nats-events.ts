import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { AuthorizationError, connect, type NatsConnection, PermissionViolationError } from "@nats-io/transport-node";
import { LRUCache } from "lru-cache";
import { StartRefused } from "../../runtime/errors.js";
import { Channel, responseTimeout } from "./channel.js";
import type { Logger } from "pino";
import { ReplicatedEvents } from "./replicated-events.js";
import { type NatsServers, natsServers } from "./nats-url.js";

/** Delivers hints to all replicas of a deployment by a subject of NATS of its own, over one connection per replica. */
export class NatsEvents extends ReplicatedEvents {
  constructor({ url, log }: { url: string; log: Logger }) {
    const servers = natsServers(url);
    if (!servers) throw new Error("The URL of NATS is invalid.");
    super((deployment) => new NatsChannel(servers, subjectOf(deployment)), log);
  }
}

/** Deployments may share a NATS: each has a subject of its own. */
export const subjectOf = (deployment: string): string => `steward.hints.${deployment}`;

/** Maximum number of other channels whose messages are counted. Replicas that end leave theirs behind. */
const mostSenders = 1_000;

/**
 * A connection to NATS, which delivers at most once. Each message has the id of the sending channel and its number, so
 * that receivers notice if one before it is missing. Each probe sends the last number again.
 */
export class NatsChannel extends Channel {
  /** Far below the usual limit of NATS, 1 MiB. */
  readonly payloadBytes = 64 * 1024;
  readonly #id = randomUUID();
  /** The number of the last message that was sent, and those of the last ones received, by sender. */
  #sent = 0;
  readonly #received = new LRUCache<string, number>({ max: mostSenders });
  #connection: NatsConnection | undefined;

  constructor(
    private readonly servers: NatsServers,
    private readonly subject: string,
  ) {
    super();
  }

  async open(onPayload: (payload: string) => void, onGap: () => void): Promise<void> {
    // Reconnecting is left to the caller, which then reports a gap.
    const options = { reconnect: false, noEcho: true, timeout: responseTimeout, name: "steward events" };
    const connection = await connect({ ...this.servers, ...options }).catch(throwRefusal);
    this.#connection = connection;
    void connection.closed().then((error) => this.end(error ?? new Error("The connection was closed.")));
    // Only the status tells that the user may not publish.
    void this.#watchStatus(connection);
    connection.subscribe(this.subject, {
      callback: (error, message) => {
        if (error) this.end(error);
        else this.#receive(message.string(), onPayload, onGap);
      },
    });
    this.isReady = true;
    // The first one announces this channel. The server handles messages in order, so it has the subscription after it.
    await this.#publish().catch(throwRefusal);
    // The server has said by now whether the user may publish and subscribe; the status tells so in a later turn.
    await turn();
    if (this.ended.reason instanceof Error) throwRefusal(this.ended.reason);
  }

  async notify(payload: string): Promise<void> {
    this.#sent++;
    await this.#publish(payload);
  }

  protected probe(): Promise<void> {
    return this.#publish();
  }

  async close(): Promise<void> {
    this.stop();
    await this.#connection?.close();
  }

  async #watchStatus(connection: NatsConnection): Promise<void> {
    for await (const status of connection.status())
      if (status.type === "error" && status.error instanceof PermissionViolationError) this.end(status.error);
  }

  /** Sends the last number, with the payload if it is that of a message. Resolves when the server has accepted it. */
  async #publish(payload = ""): Promise<void> {
    const connection = this.#connection!;
    try {
      connection.publish(this.subject, `${this.#id} ${this.#sent} ${payload}`);
      await this.#inTime(connection.flush());
    } catch (error) {
      this.end(error);
      throw error;
    }
  }

  /** Rejects if the connection ends, or the server takes too long. */
  async #inTime(work: Promise<void>): Promise<void> {
    const { promise: lost, reject } = Promise.withResolvers<never>();
    const { ended } = this;
    const onEnd = () => reject(ended.reason instanceof Error ? ended.reason : new Error("The channel was stopped."));
    ended.addEventListener("abort", onEnd);
    const timer = setTimeout(() => reject(new Error("The server does not respond.")), responseTimeout);
    try {
      await Promise.race([work, lost]);
    } finally {
      clearTimeout(timer);
      ended.removeEventListener("abort", onEnd);
    }
  }

  #receive(text: string, onPayload: (payload: string) => void, onGap: () => void): void {
    const parts = /^([\w-]{1,64}) (\d{1,15}) (.*)$/s.exec(text);
    // The receiver reports what it cannot read as a gap.
    if (!parts) return onPayload("");
    const [, sender = "", digits, payload = ""] = parts;
    const last = this.#received.get(sender);
    const number = Number(digits);
    this.#received.set(sender, number);
    // A message has the next number, a probe the same one.
    if (last !== undefined && number !== (payload === "" ? last : last + 1)) onGap();
    if (payload !== "") onPayload(payload);
  }
}

/** Throws an error, as `StartRefused` if the server rejects the user or what it may do. */
function throwRefusal(error: unknown): never {
  const isRefusal = error instanceof AuthorizationError || error instanceof PermissionViolationError;
  throw isRefusal ? new StartRefused(`NATS rejects STEWARD_EVENTS_URL: ${error.message}`) : error;
}
