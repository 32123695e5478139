// How lists read tables that have a partition for each month: a few months at a time. A statement that names no month locks
// all of them with all their indexes, and planning it takes milliseconds for each.
import type { Database, Db } from "../../infrastructure/database/database.js";
import { monthEnds, type Partitioned } from "../../infrastructure/database/months.js";
import { day, hour } from "../../runtime/durations.js";

/**
 * A table with months that a list reads in the order of a time. The months are those of the ids (UUIDv7), which are made by
 * the clock of the database when a row is: the time may be up to a day earlier or later.
 */
export interface Months<Values> {
  table: Partitioned;
  /** The number of months that are read first. */
  first: number;
  /** The times that a filter allows, in RFC 3339. */
  period?: (filter: Partial<Values>) => { after?: string | null; before?: string | null };
}

/** Milliseconds by which an id may be earlier or later than the time of its row, as clocks differ and transactions take their time. */
const early = day;
const late = day;

/** A part of a list: the rows of a range of times, with the range of ids that they can have. Undefined: without a bound. */
export interface MonthWindow {
  /** Unix milliseconds of the first time, and of the first one after it. */
  from?: number | undefined;
  until?: number | undefined;
  /** The lowest id, and the lowest one after it. */
  firstId?: string | undefined;
  endId?: string | undefined;
  /** Whether it is that with which all lists of this month begin which have no period and no cursor. */
  isUsual: boolean;
}

export interface WindowOptions {
  /** The ends of the partitions in Unix milliseconds, in their order. */
  ends: readonly number[];
  /** The time of the database. */
  now: number;
  isDescending: boolean;
  /** The period that is read: Unix milliseconds of its first time, and of the first one after it. */
  from?: number;
  until?: number;
}

/** How many times more months each next window has, and after how many windows the last one has all the rest. */
const growth = 4;
const windowsBeforeRest = 3;

/**
 * The windows of a list, in its order, which have each row of the period once. Each has whole months of ids: the first one
 * has few, so that most pages touch no others, and each next one more, so that a filter that matches little takes few
 * statements. If `ends` are out of date, Postgres finds other months in the ranges of ids.
 */
export function* windowsOf(
  { first: size }: Pick<Months<unknown>, "first">,
  { ends, now, isDescending, from = -Infinity, until = Infinity }: WindowOptions,
): Generator<MonthWindow> {
  /** The month, by its index, that has an id of a time. */
  const monthOf = (time: number) => ends.filter((end) => end <= time).length;
  // No id is later.
  const latest = monthOf(now + day);
  const highest = Math.min(monthOf(until + late), latest);
  const lowest = Math.min(monthOf(from - early), highest);
  const isUsual = isDescending && from === -Infinity && until === Infinity;
  const windowOf = (low: number, high: number, times: Pick<MonthWindow, "from" | "until">) => ({
    ...times,
    firstId: low === 0 ? undefined : firstIdOf(ends[low - 1]!),
    endId: high === ends.length ? undefined : firstIdOf(ends[high]!),
  });
  /** The end of the last window, at which the next one begins. */
  let edge: number | undefined;
  for (let count = 1; ; count++) {
    const most = count > windowsBeforeRest ? Infinity : size * growth ** (count - 1);
    if (isDescending) {
      const end = edge ?? until;
      const high = Math.min(monthOf(end + late), highest);
      let low = Math.max(high - most + 1, lowest);
      /** The first of the times whose ids are all in these months. */
      const start = () => ends[low - 1]! + early;
      while (low > lowest && start() >= end) low--;
      const isLast = low === lowest;
      yield {
        ...windowOf(low, high, { from: isLast ? undefined : start(), until: edge }),
        isUsual: isUsual && count === 1,
      };
      if (isLast) return;
      edge = start();
    } else {
      const start = edge ?? from;
      const low = Math.max(monthOf(start - early), lowest);
      let high = Math.min(low + most - 1, highest);
      const end = () => ends[high]! - late;
      while (high < highest && end() <= start) high++;
      const isLast = high === highest;
      yield { ...windowOf(low, high, { from: edge, until: isLast ? undefined : end() }), isUsual };
      if (isLast) return;
      edge = end();
    }
  }
}

const longest = 2 ** 48 - 1;

/** The lowest UUID of a time in Unix milliseconds, as `first_id_of` of Postgres. */
function firstIdOf(time: number): string {
  const digits = Math.min(Math.max(Math.floor(time), 0), longest)
    .toString(16)
    .padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`;
}

/** The lowest id that a row can have whose time is not before another one, which is in Unix milliseconds. */
export const lowestIdSince = (time: number): string => firstIdOf(time - early);

/** The time of a UUIDv7 in Unix milliseconds. */
const timeOf = (id: string): number => Number.parseInt(id.replace("-", "").slice(0, 12), 16);

/** The times that rows with these ids, at least one, can have. */
export function timesOfIds(ids: readonly string[]): { after: string; before: string } {
  const sorted = ids.toSorted();
  return {
    after: new Date(timeOf(sorted[0]!) - late).toISOString(),
    before: new Date(timeOf(sorted.at(-1)!) + early).toISOString(),
  };
}

/** The ends of partitions, and until when they are not read again. By server: tests run several in a process. */
const known = new WeakMap<Pick<Database, "db">, Map<Partitioned, { ends: Promise<number[]>; until: number }>>();

/** Returns the ends of the partitions of a table in Unix milliseconds, in their order. Reads them once an hour. */
export function endsOfMonths(database: Pick<Database, "db">, table: Partitioned): Promise<number[]> {
  const tables = known.get(database) ?? new Map<Partitioned, { ends: Promise<number[]>; until: number }>();
  known.set(database, tables);
  const found = tables.get(table);
  if (found && found.until > performance.now()) return found.ends;
  const ends = readEnds(database.db, table);
  tables.set(table, { ends, until: performance.now() + hour });
  ends.catch(() => tables.delete(table));
  return ends;
}

const readEnds = async (db: Db, table: Partitioned) => (await monthEnds(db, table)).map(timeOf);
