import type { Logger } from "pino";
import type { Events, Hint, Subscription } from "../../runtime/events.js";

interface Options {
  events: Events;
  log: Logger;
}

/** Milliseconds between two readings, for hints that were lost. */
const interval = 30_000;

/** Settings that owners store in the database, as a server uses them. Follows changes on all replicas. */
export abstract class StoredSettings {
  #hints: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  /** `what` is named in the log if the settings cannot be read, as "The providers of sign-in". */
  constructor(
    private readonly bus: Options,
    private readonly hint: Hint,
    private readonly what: string,
  ) {}

  /** Reads the settings, and uses them from now on. */
  protected abstract read(): Promise<void>;

  /** Reads the settings, and starts to follow changes. */
  async start(): Promise<void> {
    const { events, log } = this.bus;
    const refresh = () =>
      void this.refresh().catch((error: unknown) =>
        log.warn({ err: error }, `${this.what} could not be read; the last ones are used.`),
      );
    this.#hints = events.subscribe(this.hint.topic, this.hint.id, refresh);
    this.#timer = setInterval(refresh, interval).unref();
    refresh();
    await this.#reading.catch(() => {});
  }

  /** Reads the settings. Calls take their turns, so that the last one sees the last change. */
  refresh(): Promise<void> {
    return (this.#reading = this.#reading.catch(() => {}).then(() => this.read()));
  }

  async close(): Promise<void> {
    this.#hints?.close();
    clearInterval(this.#timer);
    await this.#reading.catch(() => {});
  }
}
