/** Items that are kept while the server does not take them. */
const most = 2000;

/** The lines that were left out of the middle of a backlog. */
interface Gap<Item> {
  /** The index of the first item after the gap. */
  at: number;
  /** For each stream, the first item that was left out, and the number of all. */
  left: Map<string, { first: Item; count: number }>;
}

/**
 * Lines of logs that wait to be sent, a bounded number. Of a burst, the first and the last ones are kept, with a notice
 * between them for each stream of which some were left out.
 */
export class Backlog<Item> {
  readonly #items: Item[] = [];
  #gap: Gap<Item> | undefined;

  /** `notice` makes an item that says that a number of items like this one were left out. */
  constructor(
    private readonly streamOf: (item: Item) => string,
    private readonly notice: (like: Item, text: string) => Item,
  ) {}

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  add(item: Item): void {
    while (this.#items.length >= most) this.#leaveOut(this.streamOf(item));
    this.#items.push(item);
  }

  /**
   * Drops an item behind the gap: one of the stream `growing` if there is any, so that the burst of one stream does not
   * displace the lines of others.
   */
  #leaveOut(growing: string): void {
    const gap = (this.#gap ??= { at: most / 2, left: new Map() });
    const own = this.#items.findIndex((each, at) => at >= gap.at && this.streamOf(each) === growing);
    const [item] = this.#items.splice(own < 0 ? gap.at : own, 1) as [Item];
    const stream = this.streamOf(item);
    gap.left.set(stream, { first: item, ...gap.left.get(stream), count: (gap.left.get(stream)?.count ?? 0) + 1 });
  }

  /** The first items, at most `count`, all of one stream. They remain until they are removed. */
  first(count: number): Item[] {
    if (this.#gap?.at === 0) this.#fillGap(this.#gap);
    const next = this.#items.slice(0, Math.min(count, this.#gap?.at ?? count));
    const end = next.findIndex((item) => this.streamOf(item) !== this.streamOf(next[0]!));
    return end < 0 ? next : next.slice(0, end);
  }

  #fillGap({ left }: Gap<Item>): void {
    const notices = [...left.values()].map(({ first, count }) =>
      this.notice(first, `${count} ${count === 1 ? "line was" : "lines were"} left out: there were too many.`),
    );
    this.#items.unshift(...notices);
    this.#gap = undefined;
  }

  /** Removes the first items. */
  remove(count: number): void {
    this.#items.splice(0, count);
    if (this.#gap) this.#gap.at -= count;
  }

  clear(): void {
    this.#items.length = 0;
    this.#gap = undefined;
  }
}
