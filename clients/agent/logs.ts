// The log of an agent: lines are collected and sent in batches, at a bounded rate.
import { Backlog } from "./backlog.js";
import { delay } from "../api/delay.js";
import { clipText } from "./text.js";
import { type AgentClient, type LogLevel, type LogLine, OperationFailed } from "./client.js";

const batchLines = 100;
const lineBytes = 4096;
/** Milliseconds between batches, and before a failed one is repeated. */
const interval = 500;
const retryAfter = 2_000;

interface Waiting {
  source: string;
  line: LogLine;
}

export class AgentLog {
  readonly #waiting = new Backlog<Waiting>(
    ({ source }) => source,
    ({ source }, text) => ({ source, line: lineOf(text, "WARN") }),
  );
  #isFull = false;
  #sending?: Promise<void>;
  readonly #closing = new AbortController();

  constructor(private readonly client: AgentClient) {}

  /** Adds a line. `source` is the ID of a log source of the agent. */
  add(source: string, output: string, level: LogLevel = "INFO"): void {
    if (this.#isFull || this.#closing.signal.aborted) return;
    this.#waiting.add({ source, line: lineOf(output, level) });
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
  }

  /** Sends what waits, and stops. Gives up after `timeout` milliseconds. */
  async close(timeout: number): Promise<void> {
    this.#closing.abort();
    await Promise.race([this.#sending, delay(timeout)]);
    this.#waiting.clear();
  }

  async #send(): Promise<void> {
    while (!this.#waiting.isEmpty) {
      await delay(interval, this.#closing.signal);
      const batch = this.#waiting.first(batchLines);
      const lines = batch.map(({ line }) => line);
      try {
        this.#isFull = await this.client.appendLogs(batch[0]!.source, lines);
        if (this.#isFull) this.#waiting.clear();
        else this.#waiting.remove(batch.length);
      } catch (error) {
        const isTemporary = error instanceof OperationFailed && error.isTemporary;
        if (isTemporary && !this.#closing.signal.aborted) await delay(retryAfter, this.#closing.signal);
        // A batch that the server rejects would be rejected again.
        else this.#waiting.remove(batch.length);
      }
    }
  }
}

const lineOf = (output: string, level: LogLevel): LogLine => ({
  createdAt: new Date().toISOString(),
  level,
  output: clipText(output, lineBytes),
});
