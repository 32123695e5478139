import type { Logger } from "pino";
import { databaseTime } from "../../runtime/clock.js";
import type { Database } from "../../infrastructure/database/database.js";
import { requireFactor } from "../authorization/missing-factors.js";
import type { Actor, AgentActor, ProxyActor, ScimKeyActor, UserActor } from "../kernel/actor.js";
import { unauthenticated } from "../kernel/errors.js";
import type { Events, Hint, Subscription } from "../../runtime/events.js";
import { Activity } from "./activity.js";
import { type ProvisionerKeyHolder, provisionerKeys } from "../provisioners/provisioner-key-tokens.js";
import { proxies } from "../workspace-proxies/proxy-tokens.js";
import { scimKeys } from "../scim/scim-key-tokens.js";
import { hintIdsOf, userHint } from "./hints.js";
import { agents, Machines } from "./machines.js";
import type { Recent } from "./recent.js";
import type { SessionLife } from "./session-lifetime.js";
import { livingKeys, type Snapshot, type SnapshotSettings, snapshots } from "./snapshots.js";
import { isSecretOf, parseToken, type Token } from "./token-text.js";
import { Watches } from "./watches.js";

export interface CredentialsOptions {
  config: SessionLife & SnapshotSettings;
  database: Pick<Database, "db">;
  events: Events;
  log: Logger;
}

type Holder = UserActor | AgentActor | ScimKeyActor;

/** Authenticates tokens, and ends streams whose token has ended. One per replica. */
export class Credentials {
  readonly #snapshots: Recent<Snapshot>;
  readonly #activity: Activity;
  readonly #watches: Watches;
  readonly #agents: Machines<AgentActor>;
  readonly #proxies: Machines<ProxyActor>;
  readonly #scimKeys: Machines<ScimKeyActor>;
  readonly #provisionerKeys: Machines<ProvisionerKeyHolder>;
  readonly #machines;
  readonly #hints: Subscription;

  constructor({ config, database, events, log }: CredentialsOptions) {
    const { db } = database;
    this.#snapshots = snapshots(db, config);
    this.#activity = new Activity(db, config, log);
    this.#watches = new Watches((ids) => livingKeys(db, ids), log);
    this.#agents = new Machines(agents, db, log);
    this.#proxies = new Machines(proxies, db, log);
    this.#scimKeys = new Machines(scimKeys, db, log);
    this.#provisionerKeys = new Machines(provisionerKeys, db, log);
    this.#machines = [this.#agents, this.#proxies, this.#scimKeys, this.#provisionerKeys];
    this.#hints = events.subscribeAll(
      "auth",
      (id) => this.onChange(id),
      () => this.#missedChanges(),
    );
  }

  /**
   * Returns the holder of a token: a user or the agent of a workspace. Synchronous if the token is cached, for up to a
   * second. OAuth2 access tokens are only valid for a `resource`: the URL of the request. Throws or rejects with
   * UNAUTHENTICATED.
   */
  authenticate(text: string, resource?: string): UserActor | AgentActor | Promise<UserActor | AgentActor> {
    return text.startsWith("stwa_") ? this.#agents.authenticate(text) : this.authenticateUser(text, resource);
  }

  /** Returns the holder of a token of an authorization header, where keys of identity providers count, too. */
  authenticateAuthorization(text: string, resource?: string): Holder | Promise<Holder> {
    return text.startsWith("stwi_") ? this.#scimKeys.authenticate(text) : this.authenticate(text, resource);
  }

  /** Authenticates a token of a user, as in cookies; rejects all others with UNAUTHENTICATED. */
  authenticateUser(text: string, resource?: string): UserActor | Promise<UserActor> {
    const token = parseToken(text);
    if (!token) throw unauthenticated("The token is malformed.");
    if (token.kind === "oauth" && resource === undefined) throw notValid();
    const recent = this.#snapshots.at(token.id);
    return recent
      ? this.#admit(token, recent, resource)
      : this.#snapshots.read(token.id).then((read) => this.#admit(token, read, resource));
  }

  /** Authenticates a token of a workspace proxy; rejects all others with UNAUTHENTICATED. */
  authenticateProxy = (text: string): ProxyActor | Promise<ProxyActor> => this.#proxies.authenticate(text);

  /** Authenticates a key of provisioner daemons; rejects all others with UNAUTHENTICATED. */
  authenticateProvisionerKey = (text: string): ProvisionerKeyHolder | Promise<ProvisionerKeyHolder> =>
    this.#provisionerKeys.authenticate(text);

  /**
   * Calls `onEnd` once, at most 5 seconds after the key of a user was revoked or expired, the user was suspended, or
   * the token of a machine ended. Returns the function that stops watching.
   */
  watch(actor: Actor, onEnd: () => void): () => void {
    switch (actor.kind) {
      case "user":
        return this.#watches.add(actor.credential.id, hintIdsOf(actor), onEnd);
      case "agent":
        return this.#agents.watch(actor, onEnd);
      case "proxy":
        return this.#proxies.watch(actor, onEnd);
      case "scim_key":
        return this.#scimKeys.watch(actor, onEnd);
      case "provisioner":
        if (actor.user) return this.watch(actor.user, onEnd);
        return actor.keyId === null ? () => {} : this.#provisionerKeys.watch({ ...actor, id: actor.keyId }, onEnd);
      case "system":
      case "anonymous":
        return () => {};
      default:
        return actor satisfies never;
    }
  }

  /**
   * Returns the actor of something that stays open as it is now, at most a second ago: with its present roles. Rejects
   * with UNAUTHENTICATED once its credential has ended, and with FORBIDDEN once a second factor has to be added first.
   */
  async renew(actor: Actor): Promise<Actor> {
    switch (actor.kind) {
      case "user": {
        const { id } = actor.credential;
        const { actor: present } = living(this.#snapshots.at(id) ?? (await this.#snapshots.read(id)));
        requireFactor(present);
        return present;
      }
      case "agent":
        await this.#agents.requireLiving(actor.tokenHash);
        return actor;
      case "proxy":
        await this.#proxies.requireLiving(actor.tokenHash);
        return actor;
      case "scim_key":
        await this.#scimKeys.requireLiving(actor.tokenHash);
        return actor;
      case "provisioner":
        if (actor.keyId !== null) await this.#provisionerKeys.requireLiving(actor.tokenHash);
        return actor.user ? { ...actor, user: (await this.renew(actor.user)) as UserActor } : actor;
      case "system":
      case "anonymous":
        return actor;
      default:
        return actor satisfies never;
    }
  }

  /** The hints that the rights of an actor changed; `watch` reports their end. */
  hintsOf(actor: Actor): readonly Hint[] {
    const user = actor.kind === "provisioner" ? actor.user : actor;
    return user?.kind === "user" ? [userHint(user.userId)] : [];
  }

  /** Stops watching, and writes the recorded uses. */
  async close(): Promise<void> {
    this.#hints.close();
    this.#watches.close();
    for (const machines of this.#machines) machines.close();
    await this.#activity.flush();
  }

  #admit(token: Token, snapshot: Snapshot | undefined, resource = ""): UserActor {
    const isGenuine = snapshot?.actor.credential.kind === token.kind && isSecretOf(snapshot.secretHash, token.secret);
    if (!isGenuine) throw notValid();
    const now = databaseTime();
    living(snapshot, now);
    if (!isIssuedFor(snapshot.actor.credential.oauth?.audiences ?? [], resource))
      throw unauthenticated("The token is issued for another resource.");
    this.#activity.note(snapshot, now);
    return snapshot.actor;
  }

  onChange(hint: string): void {
    if (hint.startsWith("m:")) {
      for (const machines of this.#machines) machines.onChange(hint.slice(2));
    } else {
      this.#snapshots.drop(hint);
      this.#watches.check(hint);
    }
  }

  #missedChanges(): void {
    this.#snapshots.clear();
    this.#watches.checkAll();
    for (const machines of this.#machines) machines.missedChanges();
  }
}

/** Throws UNAUTHENTICATED for a key that was revoked or has expired, or whose user is suspended. */
function living(snapshot: Snapshot | undefined, now = databaseTime()): Snapshot {
  if (!snapshot) throw notValid();
  const { expiresAt, isSuspended } = snapshot;
  if (expiresAt <= now) throw unauthenticated(`API key expired at "${new Date(expiresAt).toISOString()}".`);
  if (isSuspended) throw unauthenticated("The account is suspended.");
  return snapshot;
}

const notValid = () => unauthenticated("The token is not valid.");

/** Whether a token may be used for a URL: one of its resources is the URL or a prefix of its path (RFC 8707 §2). */
const isIssuedFor = (audiences: readonly string[], url: string): boolean =>
  audiences.length === 0 || audiences.some((audience) => url === audience || url.startsWith(`${audience}/`));
