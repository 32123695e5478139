// The numbers of audit events. A transaction that acts takes none: numbers of running transactions would either wait for
// each other or become visible out of order, and a reader that resumes after one would lose those that commit late. So a
// trigger queues each event in its own transaction, and one server at a time numbers what is committed.
import { sql } from "kysely";
import type { Logger } from "pino";
import { columnsOf } from "../../infrastructure/database/columns.js";
import type { Database, Db } from "../../infrastructure/database/database.js";
import { takeFree } from "../../infrastructure/database/locks.js";
import { purge } from "../../infrastructure/database/purge.js";
import { day } from "../../runtime/durations.js";
import type { Events, Hint } from "../../runtime/events.js";
import { PacedRuns } from "../../runtime/paced-runs.js";
import { numberEvents, unnumberedEvents } from "../notifications/notified-events.js";
import type { AuditNumbers } from "../kernel/audit.js";

const counter = columnsOf("auditNumberCounter");

/** The hint that events were numbered. */
export const numbersHint: Hint = { topic: "audit", id: "numbers" };

/** Maximum number of events that are numbered in one transaction. */
const batchSize = 1_000;

/** Milliseconds between two transactions of a server: events of the meantime are numbered together. */
const pause = 250;

/** Milliseconds after the first commit before its event is numbered, with those that are committed meanwhile. */
const firstDelay = 20;

/** Milliseconds after which the queue is read without a commit of this server: another one may have ended before it read it. */
const interval = 5_000;

/** Numbers the first events of the queue, in the order of their ids. */
const numbering = (db: Db) =>
  db
    .with("taken", (query) =>
      query
        .deleteFrom("auditNumberQueue")
        .where(
          "eventId",
          "=",
          sql<string>`any(array(${db.selectFrom("auditNumberQueue").select("eventId").orderBy("eventId").limit(sql.lit(batchSize))}))`,
        )
        .returning("eventId"),
    )
    .with("given", (query) =>
      query
        .updateTable("auditNumberCounter")
        .where(sql<boolean>`exists (select from taken)`)
        .set({
          lastNumber: sql<number>`${counter.lastNumber} + (select count(*) from taken)`,
          // The clock may go back.
          numberedAt: sql<string>`greatest(${counter.numberedAt}, clock_timestamp())`,
        })
        .returning(["lastNumber", "numberedAt"]),
    )
    .insertInto("auditNumbers")
    .columns(["number", "eventId", "numberedAt"])
    .expression((eb) =>
      eb
        .selectFrom(["taken", "given"])
        .select([
          sql<number>`${sql.ref("given.lastNumber")} - count(*) over () + row_number() over (order by ${sql.ref("taken.eventId")})`.as(
            "number",
          ),
          "taken.eventId",
          "given.numberedAt",
        ]),
    );

/** How the numbering of one batch ended. */
type Batch = "empty" | "partial" | "full" | "elsewhere";

/** Numbers one batch, unless another server is numbering. */
const numberBatch = (database: Pick<Database, "db">): Promise<Batch> =>
  database.db.transaction().execute(async (db): Promise<Batch> => {
    // By a statement of its own: the next one sees all that the former holder of the lock has committed.
    if (!(await takeFree({ db }, "audit_numbers"))) return "elsewhere";
    // Read first: what was committed before them is then in the queue, or has a number.
    const notified = await unnumberedEvents(db);
    const { numInsertedOrUpdatedRows: count = 0n } = await numbering(db).executeTakeFirst();
    if (count === BigInt(batchSize)) return "full";
    if (notified.length > 0) await numberEvents(db, notified);
    return count === 0n && notified.length === 0 ? "empty" : "partial";
  });

interface Options {
  database: Pick<Database, "db">;
  events: Pick<Events, "publish">;
  log: Logger;
}

/** Numbers audit events soon after their commit. All replicas may do so; a lock lets one at a time. */
export class AuditNumbering implements AuditNumbers {
  readonly #runs = new PacedRuns({ run: () => this.#run(), firstDelay, pause, interval });

  constructor(private readonly options: Options) {}

  start(): void {
    this.#runs.start();
  }

  /** Numbers soon what was committed: to be called after the commit of an audit event. */
  soon = (): void => this.#runs.soon();

  close(): Promise<void> {
    return this.#runs.close();
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { database, events, log } = this.options;
    try {
      let batch: Batch;
      do {
        batch = await numberBatch(database);
        if (batch === "partial" || batch === "full") events.publish(numbersHint);
        // The other server may have read the queue before the commit that called for this run.
        else if (batch === "elsewhere") this.soon();
      } while (batch === "full" && this.#runs.isOpen);
    } catch (error) {
      log.warn({ err: error }, "Audit events could not be numbered. It is tried again.");
    }
  }
}

/** A page of numbers above one, with the ids of their events. */
export const numbersAbove = ({ db }: { db: Db }, number: number, most: number) =>
  db
    .selectFrom("auditNumbers")
    .select(["number", "eventId"])
    .where("number", ">", number)
    .orderBy("number")
    .limit(sql.lit(most))
    .execute();

/** Reads the last number that was given to an audit event, and to a notified one. */
export const lastNumbers = ({ db }: { db: Db }) =>
  db.selectFrom("auditNumberCounter").select(["lastNumber", "lastNotified"]).executeTakeFirstOrThrow();

/** Reads the last number that was given to an audit event. */
export const lastNumber = async (ctx: { db: Db }): Promise<number> => (await lastNumbers(ctx)).lastNumber;

/** Numbers begin again at a multiple of it in a database that was restored: no number names two events. */
export const numbersOfLife = 1_000_000_000;

/** The SQL by which a restored database gives no number that the former one may have given since the backup. */
export const beginAnotherLife = `
  update audit_number_counter set last_number = (last_number / ${numbersOfLife} + 1) * ${numbersOfLife}`;

/** Deletes the numbers of events that are deleted: their months are, some time after their retention. */
export const numberPurge = purge("audit_numbers", {
  by: "numbered_at",
  keptFor: ({ auditRetention }) => (auditRetention ? auditRetention + 62 * day : Infinity),
});
