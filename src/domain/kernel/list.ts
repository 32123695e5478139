import type { Range } from "./paging.js";
import { allOf, joined, raw, type Sql, sql } from "./sql.js";

/** The order of a list: by keys, then by id. Requires an index of the same order. */
export interface Order {
  keys: readonly OrderedBy[];
  id: Sql;
  isDescending?: boolean;
}

export interface OrderedBy {
  /** The key in SQL, such as `g.name`. */
  column: Sql;
  /** The key of the row with an id; null if the caller may not read the row, because its position discloses the key. */
  ofPlace: (id: string) => Sql;
}

/** The limits for which Postgres plans: sizes of pages, plus the row that shows whether more follow. */
const plannedSizes = [101, 1001];

/**
 * Selects the rows of a range, plus one if more follow. `select` returns the statement without its order, with a
 * further condition. `index` returns the same from `from` on, with the columns of the order only: rows that an offset
 * skips are read from it by an index-only scan.
 */
export function rowsIn(range: Range, order: Order, select: (beyond?: Sql) => Sql, index?: (beyond?: Sql) => Sql): Sql {
  const { limit, offset } = range;
  const { columns, direction, beyond, start } = read(range, order);
  if (offset > 0 && index) {
    const skipped = sql`select ${joined(columns)} ${index(start)} ${direction} limit 1 offset ${offset - 1}`;
    return firstOf(limit + 1, sql`${select(beyond(skipped))} ${direction}`);
  }
  const rows = sql`${select(start)} ${direction}`;
  return offset > 0 ? sql`${rows} limit ${limit + 1} offset ${offset}` : firstOf(limit + 1, rows);
}

/** The clauses of a range: `order by`, and the condition that rows are beyond its start. */
function read({ place, backward }: Range, { keys, id, isDescending = false }: Order) {
  const descends = isDescending !== backward;
  const columns = [...keys.map(({ column }) => column), id];
  const direction = sql`order by ${joined(columns.map((column) => sql`${column}${raw(descends ? " desc" : "")}`))}`;
  const beyond = (values: Sql) => sql`(${joined(columns)}) ${raw(descends ? "<" : ">")} (${values})`;
  const start =
    place && beyond(joined([...keys.map(({ ofPlace }, n) => place.keys?.[n] ?? ofPlace(place.id)), place.id]));
  return { columns, direction, beyond, start };
}

/**
 * Limits rows with one plan for all values. For a parameter, Postgres expects a tenth of the table and would sort it.
 */
function firstOf(limit: number, rows: Sql): Sql {
  const planned = plannedSizes.find((size) => size >= limit);
  return planned
    ? sql`select * from (${rows} limit ${raw(String(planned))}) page limit ${limit}`
    : sql`${rows} limit ${limit}`;
}

/** A search in a list. */
export interface Search {
  columns: Sql;
  /** The list from `from` on, with a further condition. */
  from: (condition?: Sql) => Sql;
  matches: Sql;
  /** Selects ids by an index: those of all matching rows, and possibly more. */
  candidates: Sql;
}

/** Number of rows that a search reads from the list before it uses its index. */
const searchedFirst = 500;

/**
 * Selects the matching rows of a range, plus one if more follow. Frequent matches are found among the next rows of the
 * list; only if these do not fill the page, rare matches are found by the index. The latter are sorted before they are
 * limited, since Postgres would read the list in order for a limit.
 */
export function matchesIn(range: Range, order: Order, { columns, from, matches, candidates }: Search): Sql {
  const { limit, offset } = range;
  const { direction, start } = read(range, order);
  const walk = (beyond?: Sql) => sql`select ${columns}, ${matches} as matches ${from(beyond)}`;
  const stretch = sql`limit ${limit + 1} offset ${offset}`;
  return sql`
    with near as materialized (${rowsIn({ ...range, limit: searchedFirst, offset: 0 }, order, walk)}),
      page as materialized (select * from near where matches ${stretch}),
      found as materialized (
        select (select count(*) from page) > ${limit}::int or (select count(*) from near) <= ${searchedFirst}::int as enough),
      indexed as materialized (
        select ${columns}, true ${from(allOf(sql`not (select enough from found)`, isCandidate(order, candidates), matches, start))}
        ${direction})
    select * from page where (select enough from found) union all (select * from indexed ${stretch})`;
}

/** Maximum count of a list, unless its contract requires the exact number. */
export const mostCounted = 10_000;

/** Counts `rows` (`select from …`) up to a limit. */
export const countUpTo = (limit: number, rows: Sql): Sql =>
  sql`select count(*) from (${rows} limit ${raw(String(limit))}) counted`;

/** Counts the rows that match a search, up to `mostCounted`: in the list if it is short, otherwise by the index. */
export function countMatches(order: Order, { from, matches, candidates }: Omit<Search, "columns">): Sql {
  const walk = () => sql`select ${matches} as matches ${from()}`;
  return sql`
    with near as materialized (${rowsIn({ limit: searchedFirst, offset: 0, backward: false }, order, walk)})
    select case when (select count(*) from near) <= ${searchedFirst}::int then (select count(*) from near where matches)
      else (select least(count(*), ${mostCounted}::int) ${from(allOf(isCandidate(order, candidates), matches))})
    end as count`;
}

/** An array, for which Postgres expects few values and looks up each one. */
const isCandidate = ({ id }: Order, candidates: Sql): Sql => sql`${id} = any(array(${candidates}))`;
