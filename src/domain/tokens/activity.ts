import type { Logger } from "pino";
import { type Database, statement } from "../kernel/database.js";
import type { Snapshot } from "./snapshots.js";

/** How long sessions live, in milliseconds. */
export interface SessionLife {
  /** A session ends when it was not used for this long. */
  sessionDuration: number;
  /** A session ends at this age, however much it is used. */
  sessionMaxAge: number;
}

interface Use {
  userId: string;
  at: Date;
  /** The later end that the use earns a session. */
  expiresAt?: Date;
}

const hour = 3_600_000;

/** A use is noted when the last noted one is older: stored times are at most 5 minutes late. */
const tolerated = 4 * 60_000;

/** Milliseconds during which uses gather before they are written together. */
const gathering = 1_000;

/** Uses that may wait to be written. Beyond it they are noted again at their next request. */
const limit = 10_000;

// Rows that another replica is writing are skipped: nobody waits, and no two replicas can block each other.
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

/** Notes when keys were used and users seen, and lengthens sessions in use: in batches, never on a request's way. */
export class Activity {
  #noted = new Map<string, Use>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly database: Database,
    private readonly life: SessionLife,
    private readonly log: Logger,
  ) {}

  /** Notes a use of the key, unless a recent one is stored already. */
  note(snapshot: Snapshot, now: number): void {
    const end = this.#laterEnd(snapshot, now);
    if (now - snapshot.lastUsedAt < tolerated && end === undefined) return;
    const { credential, userId } = snapshot.actor;
    if (this.#noted.size >= limit || !credential || !userId) return;
    snapshot.lastUsedAt = now;
    if (end !== undefined) snapshot.expiresAt = end;
    this.#noted.set(credential.id, { userId, at: new Date(now), expiresAt: end === undefined ? end : new Date(end) });
    this.#timer ??= setTimeout(() => void this.flush(), gathering).unref();
  }

  /** Writes what was noted. Never throws. */
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
      this.log.warn({ err: error, keys: uses.length }, "The last use of some keys could not be noted.");
    }
  }

  /** Where a session ends now that it was used: moved once an hour of its duration is spent, up to its greatest age. */
  #laterEnd({ actor, createdAt, expiresAt }: Snapshot, now: number): number | undefined {
    if (actor.credential?.kind !== "session") return undefined;
    const { sessionDuration, sessionMaxAge } = this.life;
    const spent = now + sessionDuration - expiresAt;
    const end = Math.min(now + sessionDuration, createdAt + sessionMaxAge);
    return spent >= Math.min(hour, sessionDuration / 2) && end > expiresAt ? end : undefined;
  }
}
