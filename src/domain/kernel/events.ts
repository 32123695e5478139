/**
 * The bus carries hints: "something changed about this id, look again". Contents come from tables, so a lost hint
 * delays and never loses. Topics are named by the areas.
 */
export type Topic = "auth" | "inbox" | "licenses";

export interface Hint {
  topic: Topic;
  /** What to look at again, an id with a prefix of the area (`n:<user id>`). At most 128 characters. */
  id: string;
}

export interface Subscription {
  close(): void;
}

export interface Events {
  /**
   * Tells all replicas; subscribers of this one before it returns. Call after the commit only (`ctx.publish`).
   * Never throws, never waits.
   */
  publish(...hints: Hint[]): void;

  /**
   * Calls `onHint` for each hint of the topic and id, and whenever hints may have been missed, which for a single id
   * means the same: look again. Cheap for ten thousand ids.
   */
  subscribe(topic: Topic, id: string, onHint: () => void): Subscription;

  /** Calls `onHint` for every id of the topic, and `onGap` when any of them may have been missed. */
  subscribeAll(topic: Topic, onHint: (id: string) => void, onGap: () => void): Subscription;

  /** How many subscriptions are open. */
  readonly subscriptions: number;

  /** Sends what is not sent yet, for a second at most, and forgets the subscriptions. */
  close(): Promise<void>;
}
