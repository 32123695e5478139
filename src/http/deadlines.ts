/** Milliseconds by which a deadline may be noticed too late. */
const tolerance = 250;

/** Reports work that takes too long, with one timer for all: a timer for each request would take a tenth of its time. */
export class Deadlines<Work> {
  /** When each has begun, oldest first, in milliseconds of the process's monotonic clock. */
  readonly #running = new Map<Work, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly limit: number,
    private readonly onMissed: (work: Work) => void,
  ) {}

  begin(work: Work, now: number): void {
    this.#running.set(work, now);
    if (!this.#timer) this.#timer = setTimeout(() => this.#look(), tolerance).unref();
  }

  end(work: Work): void {
    this.#running.delete(work);
  }

  /** The work in progress. */
  get running(): Iterable<Work> {
    return this.#running.keys();
  }

  #look(): void {
    const latest = performance.now() - this.limit;
    for (const [work, begun] of this.#running) {
      if (begun > latest) break;
      this.#running.delete(work);
      this.onMissed(work);
    }
    this.#timer = this.#running.size > 0 ? setTimeout(() => this.#look(), tolerance).unref() : undefined;
  }
}
