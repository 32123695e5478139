import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import type { Logger } from "pino";
import { StartRefused } from "../../runtime/errors.js";
import { LabeledCounter } from "../../runtime/labeled-counter.js";
import { isConnectionFault, isRejected, reasonOf } from "./availability.js";
import { type Database, type Db, openReads } from "./database.js";

/** Milliseconds in which the standby has to respond, and to have what was committed before. */
const timeout = 250;
/** Milliseconds between two questions whether it has. */
const pollInterval = 5;
/** Milliseconds between attempts while it is given up, and without a failure until it is used again. */
const retryInterval = 1_000;
const recoveryTime = 5_000;

/**
 * SQLSTATEs of a read that the standby canceled since it had to apply a change of the primary: conflicts with recovery. Not
 * 57014: a read that takes too long would take as long on the primary.
 */
const canceled = new Set(["40001", "40P01"]);

/** Why a read runs on the primary instead; the label of the metric. */
type Reason = "canceled" | "given_up" | "late" | "not_a_standby" | "other_cluster" | "other_timeline" | "unavailable";

/** The standby cannot serve a read. */
class Unusable extends Error {
  constructor(
    readonly reason: Reason,
    message: string,
  ) {
    super(message);
  }
}

/** The write-ahead log of a server, and how far it is. */
interface Position {
  /** The cluster and the database in it, the same on the primary and its standbys. */
  database: string;
  /** Increases with each promotion: servers with the same one have the same history. */
  timeline: string;
  lsn: string;
}

interface Options {
  url: string;
  /** Maximum number of connections to the primary; half as many go to the standby. */
  pool: number;
  statementTimeout: number;
  /** The primary. */
  database: Pick<Database, "counts" | "db">;
  log: Pick<Logger, "error" | "info" | "warn">;
}

/**
 * A standby of the database, for reads. A read runs on it only if it has all that was committed on the primary before, so
 * that it finds what its caller and all others wrote, by any replica. Otherwise, the read runs on the primary, and after a
 * failure of the standby, so do all reads for some seconds.
 */
export class Standby {
  /** Reads that it may serve, by the server that did, and why. */
  readonly reads = new LabeledCounter("server", "reason");
  readonly #db: Db;
  readonly #closing = new AbortController();
  /** Time of the last failure, in milliseconds of the monotonic clock, while it is given up. */
  #failedAt: number | undefined;

  constructor(private readonly options: Options) {
    const { pool, database } = options;
    this.#db = openReads({ ...options, pool: Math.ceil(pool / 2) }, () => void database.counts.executed++);
  }

  get isGivenUp(): boolean {
    return this.#failedAt !== undefined;
  }

  /**
   * Throws `StartRefused` if the URL is rejected or leads to another database, even if that is a primary. A standby that
   * is unavailable is only logged.
   */
  async start(): Promise<void> {
    try {
      const position = await this.#positionOfPrimary();
      await this.#transaction((db) => stateOf(db, position));
    } catch (error) {
      if (error instanceof StartRefused) throw error;
      if (isRejected(error)) throw new StartRefused(`The database rejects ${setting}: ${reasonOf(error)}`);
      if (error instanceof Unusable && error.reason === "other_cluster") throw new StartRefused(error.message);
      this.#giveUp(error);
    }
  }

  /** Runs `read` in a transaction of the standby, or else `onPrimary`: also after `read`, if the standby fails. */
  async read<Result>(read: (db: Db) => Promise<Result>, onPrimary: () => Promise<Result>): Promise<Result> {
    let reason: Reason = "given_up";
    if (!this.isGivenUp) {
      const position = await this.#positionOfPrimary();
      try {
        const result = await this.#readAt(position, read);
        this.reads.add("standby", "up_to_date");
        return result;
      } catch (error) {
        const found = reasonFor(error);
        if (found === undefined) throw error;
        reason = found;
        // Other reads do not have the conflict.
        if (reason !== "canceled") this.#giveUp(error);
      }
    }
    this.reads.add("primary", reason);
    return onPrimary();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#db.destroy();
  }

  /** Runs `read` once the standby has reached a position of the primary. Throws `Unusable` if it does not in time. */
  async #readAt<Result>(position: Position, read: (db: Db) => Promise<Result>): Promise<Result> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const waiting = new AbortController();
    waiting.signal.addEventListener("abort", () => reject(waiting.signal.reason as Error));
    const reason = new Unusable("late", `It did not have what was committed within ${timeout} ms.`);
    const timer = setTimeout(() => waiting.abort(reason), timeout);
    // All in one transaction, which is on one server whatever poolers and proxies are in between.
    const reading = this.#transaction(async (db) => {
      while (!(await stateOf(db, position)).isReached) {
        waiting.signal.throwIfAborted();
        await delay(pollInterval);
      }
      waiting.signal.throwIfAborted();
      clearTimeout(timer);
      return read(db);
    });
    return Promise.race([reading, late]).finally(() => clearTimeout(timer));
  }

  #transaction = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> =>
    this.#db.transaction().setAccessMode("read only").execute(work);

  async #positionOfPrimary(): Promise<Position> {
    const { rows } = await selectPosition.execute(this.options.database.db);
    return rows[0]!;
  }

  /** Lets reads run on the primary until the standby has worked for a while. */
  #giveUp(error: unknown): void {
    const isFirst = !this.isGivenUp;
    this.#failedAt = performance.now();
    if (!isFirst || this.#closing.signal.aborted) return;
    this.options.log.warn({ reason: reasonOf(error) }, "The standby is not used; its reads run on the primary.");
    void this.#retry();
  }

  async #retry(): Promise<void> {
    const { signal } = this.#closing;
    while (performance.now() - this.#failedAt! < recoveryTime) {
      await delay(retryInterval, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      try {
        await this.#readAt(await this.#positionOfPrimary(), async () => {});
      } catch (error) {
        this.#giveUp(error);
      }
    }
    this.#failedAt = undefined;
    this.options.log.info("The standby is used again.");
  }
}

const setting = "STEWARD_DATABASE_READ_URL";

/** Why a read has to run on the primary after an error of the standby. Undefined if the read itself is at fault. */
function reasonFor(error: unknown): Reason | undefined {
  if (error instanceof Unusable) return error.reason;
  const { code = "" } = error as { code?: string };
  if (canceled.has(code)) return "canceled";
  return isConnectionFault(error) || error instanceof StartRefused ? "unavailable" : undefined;
}

/** The cluster, and the database in it. */
const thisDatabase = sql`
  (select system_identifier from pg_control_system()) || '/' ||
  (select oid from pg_database where datname = current_database())`;

const selectPosition = sql<Position>`
  select ${thisDatabase} as database, lsn::text, left(pg_walfile_name(lsn), 8) as timeline
  from (select case when not pg_is_in_recovery() then pg_current_wal_flush_lsn() end as lsn) p`;

/**
 * Whether a server has reached a position of the primary. Throws `Unusable` if it never will: one that follows another
 * primary, such as one that was replaced, may be further and yet lack it. A standby stores the timeline that it follows
 * with its next restart point.
 */
async function stateOf(db: Db, { database, timeline, lsn }: Position): Promise<{ isReached: boolean }> {
  const { rows } = await sql<{ database: string; isStandby: boolean; timeline: string; isReached: boolean }>`
    select ${thisDatabase} as database, pg_is_in_recovery() as "isStandby",
      (select lpad(upper(to_hex(greatest(c.timeline_id, r.min_recovery_end_timeline))), 8, '0')
        from pg_control_checkpoint() c, pg_control_recovery() r) as timeline,
      coalesce(pg_last_wal_replay_lsn() >= ${lsn}::text::pg_lsn, false) as "isReached"`.execute(db);
  const state = rows[0]!;
  if (state.database !== database)
    throw new Unusable("other_cluster", `${setting} leads to another database than STEWARD_DATABASE_URL.`);
  if (!state.isStandby) throw new Unusable("not_a_standby", `${setting} leads to a server that is not a standby.`);
  if (state.timeline !== timeline)
    throw new Unusable(
      "other_timeline",
      `The standby follows another primary, or has not stored that it follows this one.`,
    );
  return state;
}
