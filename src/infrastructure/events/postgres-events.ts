import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";
import { Channel, responseTimeout } from "./channel.js";
import { SessionClient, sessionConfig } from "../database/session.js";
import type { Logger } from "pino";
import { ReplicatedEvents } from "./replicated-events.js";

/**
 * Delivers hints to all replicas of a database by LISTEN and NOTIFY, over one connection per replica. It needs a session of
 * its own: a pooler in transaction mode is rejected.
 */
export class PostgresEvents extends ReplicatedEvents {
  constructor({ connectionString, log }: { connectionString: string; log: Logger }) {
    super(() => new PostgresChannel(connectionString, "steward_hints"), log);
  }
}

/** Milliseconds. */
const closeTimeout = 1_000;

/** A connection that listens on a channel and notifies it, ignoring its own notifications. */
export class PostgresChannel extends Channel {
  /** Below the limit of Postgres, 8,000 bytes. */
  readonly payloadBytes = 7_000;
  readonly #client: Client;

  constructor(
    url: string,
    private readonly name: string,
  ) {
    super();
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
    this.#client.on("error", (error) => this.end(error));
  }

  async open(onPayload: (payload: string) => void): Promise<void> {
    await this.#client.connect();
    const { rows } = await this.#client.query<{ pid: number }>("select pg_backend_pid() as pid");
    this.#client.on("notification", ({ processId, payload = "" }) => {
      if (processId !== rows[0]!.pid) onPayload(payload);
    });
    await this.#client.query(`listen ${this.name}`);
    this.isReady = true;
  }

  async notify(payload: string): Promise<void> {
    try {
      await this.#client.query({ name: "notify", text: "select pg_notify($1, $2)", values: [this.name, payload] });
    } catch (error) {
      this.end(error);
      throw error;
    }
  }

  protected async probe(): Promise<void> {
    await this.#client.query("select 1");
  }

  /** Closes the connection; waits for the server for at most one second. */
  async close(): Promise<void> {
    this.stop();
    await Promise.race([this.#client.end(), delay(closeTimeout, undefined, { ref: false })]);
  }
}
