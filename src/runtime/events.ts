import type { LabeledCounter } from "./labeled-counter.js";

/** The topics of hints. A hint says that an object changed; subscribers read the tables, so a lost hint only delays. */
export type Topic =
  | "audit"
  | "auth"
  | "builds"
  | "event_endpoints"
  | "external_auth"
  | "groups"
  | "inbox"
  | "jobs"
  | "licenses"
  | "mcp_settings"
  | "notification_settings"
  | "notifications"
  | "sign_in_providers"
  | "tasks";

export interface Hint {
  topic: Topic;
  /** The id of the changed object with a prefix of the area (`n:<user id>`), at most 128 characters. */
  id: string;
}

export interface Subscription {
  close(): void;
}

/**
 * Why hints may have been lost: this replica has connected, or has missed some of another one, or could not read them;
 * another replica reports so; or this one had too many to send (`shed`), and reports it to the others.
 */
export type GapReason = "connected" | "missed" | "unreadable" | "reported" | "shed";

export interface Events {
  /**
   * Connects to the other replicas of the deployment with this id. Resolves after the first attempt, whose failure is only
   * logged; rejects with `StartRefused` if the carrier rejects this replica. Hints of the time before are sent then.
   */
  start(deployment: string): Promise<void>;

  /** Whether hints reach the other replicas, and theirs this one; true if there cannot be others. */
  readonly isConnected: boolean;

  /**
   * Sends hints to all replicas, to subscribers of this one before it returns. To be called after the commit, by
   * `ctx.publish`. Never throws or waits.
   */
  publish(...hints: Hint[]): void;

  /**
   * Calls `onHint` for each hint of the topic and id, and `onGap`, by default the same, when hints may have been lost. Hints
   * of other ids cost nothing, however many subscriptions there are.
   */
  subscribe(topic: Topic, id: string, onHint: () => void, onGap?: () => void): Subscription;

  /**
   * Calls `onHint` for each hint of the topic, and `onGap` when hints may have been lost. For the few of a process, not for
   * each connection, and with work that does not grow with what the process holds: every replica receives every hint.
   */
  subscribeAll(topic: Topic, onHint: (id: string) => void, onGap: () => void): Subscription;

  /** Number of open subscriptions. */
  readonly subscriptions: number;

  /** How often hints were or may have been lost, by `GapReason`. */
  readonly gaps: LabeledCounter<"reason">;

  /** Sends pending hints, for at most one second, and closes all subscriptions. */
  close(): Promise<void>;
}
