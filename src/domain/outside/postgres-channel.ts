import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";

/** Milliseconds. A connection that died silently is noticed after both together. */
const probeInterval = 4_000;
const answerTimeout = 5_000;

const goodbyeTimeout = 1_000;

/** One connection that listens on a channel and notifies it. It does not hear itself. Once lost it is of no more use. */
export class PostgresChannel {
  readonly #client: Client;
  readonly #ended = new AbortController();
  #isListening = false;

  constructor(
    connectionString: string,
    private readonly name: string,
  ) {
    this.#client = new Client({
      connectionString,
      application_name: "steward events",
      connectionTimeoutMillis: answerTimeout,
      query_timeout: answerTimeout,
      pipeline: true,
    });
    this.#client.on("error", (error) => this.#end(error));
  }

  get isOpen(): boolean {
    return this.#isListening && !this.#ended.signal.aborted;
  }

  /** Connects, and calls `onPayload` for what others notify from now on. */
  async open(onPayload: (payload: string) => void): Promise<void> {
    await this.#client.connect();
    // Nobody has to wait until a notification is on disk.
    const { rows } = await this.#client.query<{ pid: number }>(
      "select pg_backend_pid() as pid, set_config('synchronous_commit', 'off', false)",
    );
    this.#client.on("notification", ({ processId, payload = "" }) => {
      if (processId !== rows[0]!.pid) onPayload(payload);
    });
    await this.#client.query(`listen ${this.name}`);
    this.#isListening = true;
  }

  /** Resolves when Postgres took it. A failure ends the connection. At most 7,999 bytes. */
  async notify(payload: string): Promise<void> {
    try {
      await this.#client.query({ name: "notify", text: "select pg_notify($1, $2)", values: [this.name, payload] });
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  /** Watches over the connection until it is stopped; rejects when it is lost. `onProof` hears of each sign of life. */
  async watch(onProof: () => void): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await delay(probeInterval, undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      await this.#client.query("select 1");
      onProof();
    }
    if (signal.reason instanceof Error) throw signal.reason;
  }

  /** Lets `watch` resolve. */
  stop(): void {
    this.#end("stopped");
  }

  /** Gives the connection back; waits for the other side for a second at most. */
  async close(): Promise<void> {
    this.stop();
    await Promise.race([this.#client.end(), delay(goodbyeTimeout, undefined, { ref: false })]);
  }

  #end(reason: unknown): void {
    this.#ended.abort(reason);
  }
}
