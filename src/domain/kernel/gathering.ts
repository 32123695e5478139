/** When what gathers is sent. */
export interface GatheringOptions {
  /** Maximum size of a batch. */
  batchSize: number;
  /** Number of running batches from which on further items wait for the end of one. */
  crowd: number;
  /** Milliseconds for which they wait at most: what runs may wait for something of its own. */
  patience: number;
}

/**
 * Gathers the items of one turn of the event loop, and sends them in batches. A single item is not delayed; while batches
 * run, further items wait shortly, so that batches grow with the load.
 */
export class Gathering<Item> {
  #waiting: Item[] = [];
  #running = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `send` resolves at the end of its batch, and never rejects. */
  constructor(
    private readonly options: GatheringOptions,
    private readonly send: (batch: readonly Item[]) => Promise<void>,
  ) {}

  add(item: Item): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#sendOrWait());
    this.#waiting.push(item);
  }

  #sendOrWait(): void {
    if (this.#running < this.options.crowd) this.#sendAll();
    else this.#timer ??= setTimeout(() => this.#sendAll(), this.options.patience);
  }

  #sendAll(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    this.#waiting = [];
    const { batchSize } = this.options;
    for (let at = 0; at < waiting.length; at += batchSize) void this.#run(waiting.slice(at, at + batchSize));
  }

  async #run(batch: readonly Item[]): Promise<void> {
    this.#running++;
    await this.send(batch);
    this.#running--;
    if (this.#waiting.length > 0) this.#sendAll();
  }
}
