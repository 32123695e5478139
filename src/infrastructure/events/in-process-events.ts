import type { Logger } from "pino";
import { LabeledCounter } from "../../runtime/labeled-counter.js";
import type { Events, GapReason, Hint, Subscription, Topic } from "../../runtime/events.js";

/** Delivers hints within one process. Sufficient for a single replica; base class of `ReplicatedEvents`. */
export class InProcessEvents implements Events {
  /** Subscribers of one id by `keyOf`, and subscribers of all ids of a topic by the topic. */
  readonly #subscribers = new Map<string, Set<Subscriber>>();
  readonly #log: Logger;
  readonly gaps = new LabeledCounter("reason");
  #subscriptions = 0;

  constructor({ log }: { log: Logger }) {
    this.#log = log;
  }

  get subscriptions(): number {
    return this.#subscriptions;
  }

  get isConnected(): boolean {
    return true;
  }

  async start(_deployment: string): Promise<void> {}

  publish(...hints: Hint[]): void {
    for (const { topic, id } of hints) {
      this.#notify(this.#subscribers.get(keyOf(topic, id)), ({ onHint }) => onHint(id));
      this.#notify(this.#subscribers.get(topic), ({ onHint }) => onHint(id));
    }
  }

  subscribe(topic: Topic, id: string, onHint: () => void, onGap = onHint): Subscription {
    return this.#add(keyOf(topic, id), { onHint, onGap });
  }

  subscribeAll(topic: Topic, onHint: (id: string) => void, onGap: () => void): Subscription {
    return this.#add(topic, { onHint, onGap });
  }

  async close(): Promise<void> {
    this.#subscribers.clear();
    this.#subscriptions = 0;
  }

  /** Notifies every subscriber that hints may have been lost, and counts the reason. */
  protected publishGap(reason: GapReason): void {
    this.gaps.add(reason);
    this.notifyOfGap();
  }

  /** Notifies every subscriber that hints may have been lost. */
  protected notifyOfGap(): void {
    for (const subscribers of this.#subscribers.values()) this.#notify(subscribers, ({ onGap }) => onGap());
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

  /** Calls every subscriber. One that throws is logged and does not affect the others or the publisher. */
  #notify(subscribers: Iterable<Subscriber> = [], notify: (subscriber: Subscriber) => void): void {
    for (const subscriber of subscribers) {
      try {
        notify(subscriber);
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

/** Unambiguous, because topics contain no spaces. */
const keyOf = (topic: Topic, id: string) => `${topic} ${id}`;
