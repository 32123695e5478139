import { sql } from "kysely";
import type { Logger } from "pino";
import type { Db } from "../../infrastructure/database/database.js";
import { anyOf } from "../kernel/queries.js";
import { laterSessionEnd, type SessionLife } from "./session-lifetime.js";
import type { Snapshot } from "./snapshots.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const k = columnsOf("apiKeys", "k");
const u = columnsOf("users", "u");

/** A use of a key. */
interface Use {
  userId: string;
  at: Date;
  /** The new expiry of a session, if the use extends it. */
  expiresAt?: Date;
}

/** Milliseconds between recorded uses of a key. Stored times are at most 5 minutes behind. */
const accuracy = 4 * 60_000;

/** Milliseconds for which uses are collected before they are written together. */
const delay = 1_000;

/** Maximum number of uses to write. Further keys are recorded at their next request. */
const limit = 10_000;

/** Records the last use of keys and users and extends sessions in use, in batches outside of requests. */
export class Activity {
  #noted = new Map<string, Use>();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    private readonly db: Db,
    private readonly life: SessionLife,
    private readonly log: Logger,
  ) {}

  /** Records a use of the key, unless a recent use is already stored. */
  note(snapshot: Snapshot, now: number): void {
    const end = laterSessionEnd(snapshot, this.life, now);
    if (now - snapshot.lastUsedAt < accuracy && end === undefined) return;
    if (this.#noted.size >= limit) return;
    const { credential, userId } = snapshot.actor;
    snapshot.lastUsedAt = now;
    if (end !== undefined) snapshot.expiresAt = end;
    this.#noted.set(credential.id, { userId, at: new Date(now), expiresAt: end === undefined ? end : new Date(end) });
    this.#timer ??= setTimeout(() => void this.flush(), delay).unref();
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
      await writeUsesOfKeys(this.db, uses);
      await writeUsesOfUsers(this.db, uses);
    } catch (error) {
      this.log.warn({ err: error, keys: uses.length }, "The last use of some keys could not be recorded.");
    }
  }
}

// Both skip rows that another replica is writing, so that replicas neither wait for each other nor deadlock.

function writeUsesOfKeys(db: Db, uses: ReadonlyArray<[string, Use]>) {
  const ids = uses.map(([id]) => id);
  const times = uses.map(([, { at }]) => at);
  const ends = uses.map(([, { expiresAt }]) => expiresAt ?? null);
  const used = sql<{ id: string; at: string; expiresAt: string | null }>`
    unnest(${ids}::text[], ${times}::timestamptz[], ${ends}::timestamptz[])`.as<"used">(sql`used (id, at, expires_at)`);
  return db
    .with("free", (read) =>
      read.selectFrom("apiKeys").select("id").where("id", "=", anyOf(ids, "text")).forNoKeyUpdate().skipLocked(),
    )
    .updateTable("apiKeys as k")
    .from(["free", used])
    .whereRef("k.id", "=", "free.id")
    .whereRef("used.id", "=", "free.id")
    .set({
      lastUsedAt: sql<string>`greatest(${k.lastUsedAt}, used.at)`,
      expiresAt: sql<string>`greatest(${k.expiresAt}, used.expires_at)`,
    })
    .execute();
}

function writeUsesOfUsers(db: Db, uses: ReadonlyArray<[string, Use]>) {
  const lastUses = new Map<string, Date>();
  for (const [, { userId, at }] of uses) if (at > (lastUses.get(userId) ?? 0)) lastUses.set(userId, at);
  const ids = [...lastUses.keys()];
  const seen = sql<{ id: string; at: string }>`
    unnest(${ids}::uuid[], ${[...lastUses.values()]}::timestamptz[])`.as<"seen">(sql`seen (id, at)`);
  return db
    .with("free", (read) =>
      read.selectFrom("users").select("id").where("id", "=", anyOf(ids)).forNoKeyUpdate().skipLocked(),
    )
    .updateTable("users as u")
    .from(["free", seen])
    .whereRef("u.id", "=", "free.id")
    .whereRef("seen.id", "=", "free.id")
    .set({ lastSeenAt: sql<string>`greatest(${u.lastSeenAt}, seen.at)` })
    .execute();
}
