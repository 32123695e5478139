import { sql } from "kysely";
import { databaseTime, setDatabaseTime } from "../../runtime/clock.js";
import type { Services } from "../kernel/context.js";

/** Milliseconds by which the clock of this machine may be wrong before the operator is told. */
const tolerated = 5_000;

/** Maximum number of milliseconds that a reading may take, after the first one. */
const longestReading = 1_000;

/** Milliseconds by which the clock of this machine is ahead of that of the database. */
export const clockOffset = (): number => Date.now() - databaseTime();

let isRead = false;
let isReported = false;

/** Reads the clock of the database. Logs once that the clock of this machine differs from it. */
export async function readClock({ database, log }: Pick<Services, "database" | "log">): Promise<void> {
  const start = performance.now();
  const { rows } = await sql<{ time: number }>`select extract(epoch from clock_timestamp()) * 1000 as time`.execute(
    database.db,
  );
  const taken = performance.now() - start;
  if (isRead && taken > longestReading) return;
  // It is now between the time that was read and as much later as the reading took: in the middle, unless the clock is
  // known better from earlier readings.
  const { time: earliest } = rows[0]!;
  const latest = earliest + taken;
  const known = databaseTime();
  if (!isRead || known < earliest || known > latest) setDatabaseTime(earliest + taken / 2);
  isRead = true;
  const offset = clockOffset();
  const isOff = Math.abs(offset) > tolerated;
  if (isOff && !isReported)
    log.warn(
      { offsetSeconds: Math.round(offset / 1000) },
      "The clock of this machine differs from that of the database, which decides what has expired. Synchronize the clocks.",
    );
  isReported = isOff;
}

/** Follows changes of the clock of the database. */
export const clockJob = { name: "read the clock of the database", every: 10_000, run: readClock };
