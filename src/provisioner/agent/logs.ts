// The log of an agent: lines are collected and sent in batches, at a bounded rate.
import { delay } from "../pace.js";
import { clipped } from "../text.js";
import { type AgentClient, type LogLevel, type LogLine, OperationFailed } from "./client.js";

const batchLines = 100;
const lineBytes = 4096;
/** Lines that wait for the server. Further ones are discarded, and counted. */
const mostWaiting = 2000;
/** Milliseconds between batches, and before a failed one is repeated. */
const interval = 500;
const retryAfter = 2_000;

interface Waiting {
  source: string;
  line: LogLine;
}

export class AgentLog {
  readonly #waiting: Waiting[] = [];
  #discarded = 0;
  #isFull = false;
  #sending?: Promise<void>;
  readonly #closing = new AbortController();

  constructor(private readonly client: AgentClient) {}

  /** Adds a line. `source` is the ID of a log source of the agent. */
  add(source: string, output: string, level: LogLevel = "INFO"): void {
    if (this.#isFull || this.#closing.signal.aborted) return;
    if (this.#waiting.length >= mostWaiting) {
      this.#discarded += 1;
      return;
    }
    const line = { createdAt: new Date().toISOString(), level, output: clipped(output, lineBytes) };
    this.#waiting.push({ source, line });
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
  }

  /** Sends what waits, and stops. Gives up after `patience` milliseconds. */
  async close(patience: number): Promise<void> {
    this.#closing.abort();
    await Promise.race([this.#sending, delay(patience)]);
    this.#waiting.length = 0;
  }

  async #send(): Promise<void> {
    while (this.#waiting.length > 0) {
      await delay(interval, this.#closing.signal);
      const { source } = this.#waiting[0]!;
      const end = this.#waiting.findIndex((each) => each.source !== source);
      const count = Math.min(batchLines, end < 0 ? this.#waiting.length : end);
      const lines = this.#waiting.slice(0, count).map(({ line }) => line);
      try {
        this.#isFull = await this.client.appendLogs(source, lines);
        this.#waiting.splice(0, this.#isFull ? this.#waiting.length : count);
        this.#noteDiscarded(source);
      } catch (error) {
        const isTemporary = error instanceof OperationFailed && error.isTemporary;
        if (isTemporary && !this.#closing.signal.aborted) await delay(retryAfter, this.#closing.signal);
        // A batch that the server rejects would be rejected again.
        else this.#waiting.splice(0, count);
      }
    }
  }

  #noteDiscarded(source: string): void {
    if (this.#discarded === 0 || this.#isFull) return;
    const output = `${this.#discarded} lines were discarded: there were too many.`;
    this.#discarded = 0;
    this.#waiting.unshift({ source, line: { createdAt: new Date().toISOString(), level: "WARN", output } });
  }
}
