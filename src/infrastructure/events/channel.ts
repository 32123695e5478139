import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds. A connection that died silently is detected after the sum of both. */
const probeInterval = 4_000;
export const responseTimeout = 5_000;

/** A connection over which replicas send texts to each other. Not reusable once lost. */
export abstract class Channel {
  /** Maximum size of a payload. */
  abstract readonly payloadBytes: number;
  /** Aborted when the connection is lost or stopped, with the reason. */
  protected readonly ended: AbortSignal;
  /** Whether `open` has got as far as to send and receive. */
  protected isReady = false;
  readonly #ending = new AbortController();

  constructor() {
    this.ended = this.#ending.signal;
  }

  get isOpen(): boolean {
    return this.isReady && !this.ended.aborted;
  }

  /**
   * Connects, and from then on calls `onPayload` for each text that another replica sends, and `onGap` if it notices that
   * some did not arrive. Rejects with `StartRefused` if the server rejects what the settings say.
   */
  abstract open(onPayload: (payload: string) => void, onGap: () => void): Promise<void>;

  /** Resolves when the server has accepted the text. A failure ends the connection. */
  abstract notify(payload: string): Promise<void>;

  /** Rejects if the server does not respond in time. */
  protected abstract probe(): Promise<void>;

  /** Probes the connection until `stop` is called; rejects when it is lost. Calls `onAlive` after each success. */
  async watch(onAlive: () => void): Promise<void> {
    const { ended } = this;
    while (!ended.aborted) {
      await delay(probeInterval, undefined, { signal: ended }).catch(() => {});
      if (ended.aborted) break;
      await this.probe();
      onAlive();
    }
    if (ended.reason instanceof Error) throw ended.reason;
  }

  /** Lets `watch` resolve. */
  stop(): void {
    this.end("stopped");
  }

  abstract close(): Promise<void>;

  protected end(reason: unknown): void {
    this.#ending.abort(reason);
  }
}
