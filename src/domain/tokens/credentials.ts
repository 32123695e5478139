import type { Logger } from "pino";
import type { Actor } from "../../context.js";
import type { Database } from "../database.js";
import { unauthenticated } from "../errors.js";
import type { Events, Subscription } from "../events.js";
import { Activity, type SessionLife } from "./activity.js";
import { type Snapshot, Snapshots } from "./snapshots.js";
import { isSecret, parseToken, type Token } from "./text.js";
import { Watches } from "./watches.js";

export interface CredentialsOptions {
  config: SessionLife & { adminWorkspaceAccess: boolean };
  database: Database;
  events: Events;
  log: Logger;
}

/** Names a key in hints: whoever remembers anything of it looks again. */
export const keyHint = (id: string) => ({ topic: "auth", id: `k:${id}` }) as const;

/** Names a user in hints: its roles, its status or its keys changed. */
export const userHint = (userId: string) => ({ topic: "auth", id: `u:${userId}` }) as const;

/** Who is behind a token, for requests and for as long as a stream stays open. One per replica. */
export class Credentials {
  readonly #snapshots: Snapshots;
  readonly #activity: Activity;
  readonly #watches: Watches;
  readonly #hints: Subscription;

  constructor({ config, database, events, log }: CredentialsOptions) {
    this.#snapshots = new Snapshots(database, config.adminWorkspaceAccess);
    this.#activity = new Activity(database, config, log);
    this.#watches = new Watches(database, log);
    this.#hints = events.subscribeAll(
      "auth",
      (id) => this.#changed(id),
      () => this.#missedChanges(),
    );
  }

  /**
   * Who shows this token. Answers at once when the key was read less than a second ago. Throws, or rejects, with
   * UNAUTHENTICATED.
   */
  authenticate(text: string): Actor | Promise<Actor> {
    const token = parseToken(text);
    if (!token) throw unauthenticated("The token is malformed.");
    const recent = this.#snapshots.recent(token.id);
    return recent
      ? this.#admit(token, recent)
      : this.#snapshots.read(token.id).then((read) => this.#admit(token, read));
  }

  /**
   * Calls `onEnd` once, at most 5 seconds after the actor's key was revoked or expired or its user was suspended.
   * Returns the function that stops watching.
   */
  watch({ credential, userId }: Actor, onEnd: () => void): () => void {
    return credential ? this.#watches.add(credential.id, userId, onEnd) : () => {};
  }

  /** Writes what is not written yet and forgets the rest. */
  async close(): Promise<void> {
    this.#hints.close();
    this.#watches.close();
    await this.#activity.flush();
  }

  #admit(token: Token, snapshot: Snapshot | undefined): Actor {
    const isGenuine = snapshot?.actor.credential?.kind === token.kind && isSecret(token.secret, snapshot.secretHash);
    if (!snapshot || !isGenuine) throw unauthenticated("The token is not valid.");
    const now = Date.now();
    if (snapshot.expiresAt <= now) {
      throw unauthenticated(`API key expired at "${new Date(snapshot.expiresAt).toISOString()}".`);
    }
    if (snapshot.isSuspended) throw unauthenticated("The account is suspended.");
    this.#activity.note(snapshot, now);
    return snapshot.actor;
  }

  #changed(hint: string): void {
    const id = hint.slice(2);
    if (hint.startsWith("k:")) {
      this.#snapshots.dropKey(id);
      this.#watches.checkKey(id);
    } else {
      this.#snapshots.dropUser(id);
      this.#watches.checkUser(id);
    }
  }

  #missedChanges(): void {
    this.#snapshots.clear();
    this.#watches.checkAll();
  }
}
