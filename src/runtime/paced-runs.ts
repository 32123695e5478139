interface Options {
  /** Does the work. Never rejects. */
  run: () => Promise<void>;
  /** Milliseconds from the first call until a run, so that what comes with it is done together. Default: none. */
  firstDelay?: number;
  /** Milliseconds between two runs. */
  pause: number;
  /** Milliseconds after which there is a run without a call. */
  interval: number;
}

/** Runs work soon after it is called for: one run at a time. A call during a run leads to another one. */
export class PacedRuns {
  #poll: NodeJS.Timeout | undefined;
  /** Set while a run is due. */
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isOpen = false;
  #isDue = false;
  #lastRun = -Infinity;

  constructor(private readonly options: Options) {}

  /** Whether it was started and is not closed: long runs end early once it is. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  start(): void {
    this.#isOpen = true;
    this.#poll = setInterval(this.soon, this.options.interval).unref();
    this.soon();
  }

  /** Calls for a run. Does nothing before the start and after the end. */
  soon = (): void => {
    if (!this.#isOpen) return;
    this.#isDue = true;
    if (this.#timer || this.#running) return;
    const { firstDelay = 0, pause } = this.options;
    const wait = Math.max(firstDelay, this.#lastRun + pause - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#running = this.#run();
    }, wait).unref();
  };

  /** Resolves once the run in progress has ended. */
  async close(): Promise<void> {
    this.#isOpen = false;
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    this.#isDue = false;
    await this.options.run();
    this.#lastRun = performance.now();
    this.#running = undefined;
    if (this.#isDue) this.soon();
  }
}
