/** Counts events by the values of labels. Cheaper to count than a metric, which reads the counts when it is scraped. */
export class LabeledCounter<Label extends string = string> {
  readonly labels: readonly Label[];
  readonly #counts = new Map<string, { values: readonly string[]; count: number }>();

  /** The names of the labels. Their values must have no spaces, and there must be few of them. */
  constructor(...labels: Label[]) {
    this.labels = labels;
  }

  add(...values: string[]): void {
    const key = values.length === 1 ? values[0]! : values.join(" ");
    const entry = this.#counts.get(key);
    if (entry) entry.count++;
    else this.#counts.set(key, { values, count: 1 });
  }

  /** The counts with the values of their labels. */
  *[Symbol.iterator](): Generator<{ labels: Record<Label, string>; count: number }> {
    for (const { values, count } of this.#counts.values()) {
      const entries = this.labels.map((label, index) => [label, values[index]]);
      yield { labels: Object.fromEntries(entries) as Record<Label, string>, count };
    }
  }
}
