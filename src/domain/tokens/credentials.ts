import type { Logger } from "pino";
import type { Actor } from "../kernel/actor.js";
import type { Database } from "../kernel/database.js";
import { unauthenticated } from "../kernel/errors.js";
import type { Events, Subscription } from "../kernel/events.js";
import { Activity, type SessionLife } from "./activity.js";
import { proxies } from "../workspace-proxies/tokens.js";
import { agents, Machines } from "./machines.js";
import type { Recent } from "./recent.js";
import { livingKeys, type Snapshot, snapshots } from "./snapshots.js";
import { isSecretOf, parseToken, type Token } from "./text.js";
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
  readonly #snapshots: Recent<Snapshot>;
  readonly #activity: Activity;
  readonly #watches: Watches;
  readonly #agents: Machines;
  readonly #proxies: Machines;
  readonly #hints: Subscription;

  constructor({ config, database, events, log }: CredentialsOptions) {
    this.#snapshots = snapshots(database, config.adminWorkspaceAccess);
    this.#activity = new Activity(database, config, log);
    this.#watches = new Watches(database, livingKeys, log);
    this.#agents = new Machines(agents, database, log);
    this.#proxies = new Machines(proxies, database, log);
    this.#hints = events.subscribeAll(
      "auth",
      (id) => this.#changed(id),
      () => this.#missedChanges(),
    );
  }

  /**
   * Who shows this token: a user, or the agent of a workspace. Answers at once when it was read less than a second ago.
   * Throws, or rejects, with UNAUTHENTICATED.
   */
  authenticate(text: string): Actor | Promise<Actor> {
    return text.startsWith("stwa_") ? this.#agents.authenticate(text) : this.authenticateUser(text);
  }

  /** The same where only users count: machines keep no cookies. */
  authenticateUser(text: string): Actor | Promise<Actor> {
    const token = parseToken(text);
    if (!token) throw unauthenticated("The token is malformed.");
    const recent = this.#snapshots.at(token.id);
    return recent
      ? this.#admit(token, recent)
      : this.#snapshots.read(token.id).then((read) => this.#admit(token, read));
  }

  /** Which proxy shows this token. */
  authenticateProxy = (text: string): Actor | Promise<Actor> => this.#proxies.authenticate(text);

  /**
   * Calls `onEnd` once, at most 5 seconds after the actor's key was revoked or expired or its user was suspended, or
   * after the token of a machine ended. Returns the function that stops watching.
   */
  watch(actor: Actor, onEnd: () => void): () => void {
    const { kind, credential, userId } = actor;
    if (kind === "agent") return this.#agents.watch(actor, onEnd);
    if (kind === "proxy") return this.#proxies.watch(actor, onEnd);
    return credential ? this.#watches.add(credential.id, userId, onEnd) : () => {};
  }

  /** Writes what is not written yet and forgets the rest. */
  async close(): Promise<void> {
    this.#hints.close();
    this.#watches.close();
    this.#agents.close();
    this.#proxies.close();
    await this.#activity.flush();
  }

  #admit(token: Token, snapshot: Snapshot | undefined): Actor {
    const isGenuine = snapshot?.actor.credential?.kind === token.kind && isSecretOf(snapshot.secretHash, token.secret);
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
    if (hint.startsWith("m:")) {
      this.#agents.changed(id);
      this.#proxies.changed(id);
    } else if (hint.startsWith("k:")) {
      // Keys that this one has asked for end with it.
      this.#snapshots.dropWhere(({ actor }) => actor.credential?.id === id || actor.credential?.parentId === id);
      this.#watches.checkKey(id);
    } else {
      this.#snapshots.dropWhere(({ actor }) => actor.userId === id);
      this.#watches.checkUser(id);
    }
  }

  #missedChanges(): void {
    this.#snapshots.clear();
    this.#watches.checkAll();
    this.#agents.missedChanges();
    this.#proxies.missedChanges();
  }
}
