import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import type { Channel } from "./replicated-events.js";
import { SessionClient, sessionConfig } from "../database/session.js";

/** Milliseconds. A connection that died silently is detected after the sum of both. */
const probeInterval = 4_000;
const responseTimeout = 5_000;

const closeTimeout = 1_000;

/** A connection that listens on a channel and notifies it, ignoring its own notifications. */
export class PostgresChannel implements Channel {
  /** Below the limit of Postgres, 8,000 bytes. */
  readonly payloadBytes = 7_000;
  readonly #client: Client;
  readonly #ended = new AbortController();
  #isListening = false;

  constructor(
    url: string,
    private readonly name: string,
  ) {
    this.#client = new SessionClient({
      // Notifications need not be durable: do not wait for the WAL flush.
      ...sessionConfig(url, {
        applicationName: "steward events",
        settings: { synchronous_commit: "off" },
        needsSession: true,
      }),
      query_timeout: responseTimeout,
      pipeline: true,
    });
    this.#client.on("error", (error) => this.#end(error));
  }

  get isOpen(): boolean {
    return this.#isListening && !this.#ended.signal.aborted;
  }

  async open(onPayload: (payload: string) => void): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ pid: number }>("select pg_backend_pid() as pid");
    this.#client.on("notification", ({ processId, payload = "" }) => {
      if (processId !== rows[0]!.pid) onPayload(payload);
    });
    await this.#client.query(`listen ${this.name}`);
    this.#isListening = true;
  }

  async notify(payload: string): Promise<void> {
    try {
      await this.#client.query({ name: "notify", text: "select pg_notify($1, $2)", values: [this.name, payload] });
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  async watch(onAlive: () => void): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await delay(probeInterval, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      await this.#client.query("select 1");
      onAlive();
    }
    if (signal.reason instanceof Error) throw signal.reason;
  }

  stop(): void {
    this.#end("stopped");
  }

  /** Closes the connection; waits for the server for at most one second. */
  async close(): Promise<void> {
    this.stop();
    await Promise.race([this.#client.end(), delay(closeTimeout, undefined, { ref: false })]);
  }

  #end(reason: unknown): void {
    this.#ended.abort(reason);
  }
}
