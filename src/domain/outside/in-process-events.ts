import type { Logger } from "pino";
import type { Events, Hint, Subscription, Topic } from "../kernel/events.js";

/** Hints within one process: all a single replica needs, and the last step of those that come from elsewhere. */
export class InProcessEvents implements Events {
  /** Subscribers by topic and id, and under the bare topic those of all its ids. */
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  readonly #log: Logger;
  #subscriptions = 0;

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get subscriptions(): number {
    return this.#subscriptions;
  }

  publish(...hints: Hint[]): void {
    for (const { topic, id } of hints) {
      this.#tell(this.#subscribers.get(keyOf(topic, id)), ({ onHint }) => onHint(id));
      this.#tell(this.#subscribers.get(topic), ({ onHint }) => onHint(id));
    }
  }

  subscribe(topic: Topic, id: string, onHint: () => void): Subscription {
    return this.#add(keyOf(topic, id), { onHint, onGap: onHint });
  }

  subscribeAll(topic: Topic, onHint: (id: string) => void, onGap: () => void): Subscription {
    return this.#add(topic, { onHint, onGap });
  }

  async close(): Promise<void> {
    this.#subscribers.clear();
    this.#subscriptions = 0;
  }

  /** Makes every subscriber look again. */
  protected publishGap(): void {
    for (const subscribers of this.#subscribers.values()) this.#tell(subscribers, ({ onGap }) => onGap());
  }

  #add(key: string, subscriber: Subscriber): Subscription {
    const subscribers = this.#subscribers.get(key) ?? new Set();
    this.#subscribers.set(key, subscribers.add(subscriber));
    this.#subscriptions++;
    return { close: () => this.#remove(key, subscriber) };
  }

  #remove(key: string, subscriber: Subscriber): void {
    const subscribers = this.#subscribers.get(key);
    if (!subscribers?.delete(subscriber)) return;
    this.#subscriptions--;
    if (subscribers.size === 0) this.#subscribers.delete(key);
  }

  /** A subscriber that fails is a defect of its own and keeps neither the others nor the publisher from going on. */
  #tell(subscribers: Iterable<Subscriber> = [], tell: (subscriber: Subscriber) => void): void {
    for (const subscriber of subscribers) {
      try {
        tell(subscriber);
      } catch (error) {
        this.#log.error({ err: error }, "A subscriber failed on a hint.");
      }
    }
  }
}

interface Subscriber {
  onHint: (id: string) => void;
  onGap: () => void;
}

/** Unambiguous: topics hold no space. */
const keyOf = (topic: Topic, id: string) => `${topic} ${id}`;
