import type { Logger } from "pino";
import { type Database, statement } from "../kernel/database.js";
import type { Snapshot } from "./snapshots.js";

/** Lifetimes of sessions, in milliseconds. */
export interface SessionLife {
  /** A session ends after this time without use. */
  sessionDuration: number;
  /** A session ends at this age, even if in use. */
  sessionMaxAge: number;
}

interface Use {
  userId: string;
  at: Date;
  /** The new expiry of a session, if the use extends it. */
  expiresAt?: Date;
}

const hour = 3_600_000;

/** Milliseconds between recorded uses of a key. Stored times are at most 5 minutes behind. */
const tolerated = 4 * 60_000;

/** Milliseconds for which uses are collected before they are written in one statement. */
const gathering = 1_000;

/** Maximum number of uses to write. Further keys are recorded at their next request. */
const limit = 10_000;

// Skips rows that another replica is writing, so that replicas neither wait for each other nor deadlock.
const writeUses = statement(`
  with used as (
    select * from unnest($1::text[], $2::uuid[], $3::timestamptz[], $4::timestamptz[]) as used (id, user_id, at, expires_at)
  ), free_keys as (
    select id from api_keys where id = any($1) for no key update skip locked
  ), free_users as (
    select id from users where id = any($2) for no key update skip locked
  ), touched as (
    update api_keys k
    set last_used_at = greatest(k.last_used_at, used.at), expires_at = greatest(k.expires_at, used.expires_at)
    from used, free_keys f
    where k.id = f.id and used.id = f.id
  )
  update users u
  set last_seen_at = greatest(u.last_seen_at, seen.at)
  from (select user_id, max(at) as at from used group by user_id) seen, free_users f
  where u.id = f.id and seen.user_id = f.id`);

/** Records the last use of keys and users and extends sessions in use, in batches outside of requests. */
export class Activity {
  #noted = new Map<string, Use>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly life: SessionLife,
    private readonly log: Logger,
  ) {}

  /** Records a use of the key, unless a recent use is already stored. */
  note(snapshot: Snapshot, now: number): void {
    const end = this.#laterEnd(snapshot, now);
    if (now - snapshot.lastUsedAt < tolerated && end === undefined) return;
    if (this.#noted.size >= limit) return;
    const { credential, userId } = snapshot.actor;
    snapshot.lastUsedAt = now;
    if (end !== undefined) snapshot.expiresAt = end;
    this.#noted.set(credential.id, { userId, at: new Date(now), expiresAt: end === undefined ? end : new Date(end) });
    this.#timer ??= setTimeout(() => void this.flush(), gathering).unref();
  }

  /** Writes the recorded uses. Never throws. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const uses = [...this.#noted];
    this.#noted = new Map();
    if (uses.length > 0) this.#writing = this.#writing.then(() => this.#write(uses));
    return this.#writing;
  }

  async #write(uses: Array<[string, Use]>): Promise<void> {
    try {
      await this.database.query(writeUses, [
        uses.map(([id]) => id),
        uses.map(([, { userId }]) => userId),
        uses.map(([, { at }]) => at),
        uses.map(([, { expiresAt }]) => expiresAt ?? null),
      ]);
    } catch (error) {
      this.log.warn({ err: error, keys: uses.length }, "The last use of some keys could not be recorded.");
    }
  }

  /** The new expiry of a session in use: at most once per hour, up to its maximum age; `undefined` if unchanged. */
  #laterEnd({ actor, createdAt, expiresAt }: Snapshot, now: number): number | undefined {
    if (actor.credential.kind !== "session") return undefined;
    const { sessionDuration, sessionMaxAge } = this.life;
    const spent = now + sessionDuration - expiresAt;
    const end = Math.min(now + sessionDuration, createdAt + sessionMaxAge);
    return spent >= Math.min(hour, sessionDuration / 2) && end > expiresAt ? end : undefined;
  }
}
