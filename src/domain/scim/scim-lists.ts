import { hash } from "node:crypto";
import { type RawBuilder, type SelectQueryBuilder, sql, type SqlBool } from "kysely";
import { databaseTime } from "../../runtime/clock.js";
import type { Schema } from "../../entities/schema.js";
import type { Db } from "../../infrastructure/database/database.js";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import type { Context } from "../kernel/context.js";
import type { Place as Position } from "../kernel/paging.js";
import { quote } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { columnAt, type Columns, conditionOf, firstAt } from "./conditions.js";
import { fault } from "./faults.js";
import { filterLimits, parseFilter } from "./filter.js";
import { attributeNamed, leafOf, type Place, placeNamed } from "./paths.js";
import type { ResourceType } from "./schema.js";
import { anyInt, bytes, type Input, inputOf, optional, string } from "../kernel/values.js";

/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865). Null is the same as absent. */
export const ListQuery = inputOf({
  filter: optional(
    bytes(0, filterLimits.bytes),
    'A SCIM filter, at most 4096 bytes, 32 levels and 64 comparisons, such as `userName eq "ada"`.',
  ),
  sortBy: optional(string, "Name of the attribute to sort by. Default: by ID."),
  sortOrder: optional(string, "`ascending` or `descending`. Default: ascending."),
  // Smaller numbers are 1.
  startIndex: optional(anyInt, "Position of the first resource, from 1. Default: 1."),
  // Smaller numbers are 0.
  count: optional(anyInt, "Page size. Default: 100. 0 only counts."),
  cursor: optional(string, "Cursor of the page: empty for the first one, then `nextCursor` of the page before."),
});
export type ListQuery = Input<typeof ListQuery>;

/** A page of resources. `startIndex` is absent for pages by cursor. */
export interface Listed<Row> {
  totalResults: number;
  startIndex?: number;
  rows: Row[];
  nextCursor?: string;
}

type Query<DB, TB extends keyof DB, Row> = SelectQueryBuilder<DB, TB, Row>;

/** The resources of a type that a source sees. */
export interface Source<DB, TB extends keyof DB, Row> {
  type: ResourceType;
  /** Label of the identity provider, to which cursors are bound. */
  source: string;
  /** Where filters and orders find attributes. */
  columns: Columns;
  id: RawBuilder<string>;
  rows: (db: Db) => Query<DB, TB, Row>;
  /** Selects the ids of all resources by an index on them, if that is faster: the rows of a page are then read by their ids. */
  ids?: (db: Db) => Query<Schema & { u: Schema["users"] }, "u", { id: string }>;
  /** Counts all resources by indexes, if there is a faster way than by their rows. */
  count?: (db: Db) => Promise<number>;
}

/** Lists resources by the sorted attribute, then by id: new resources come last. */
export async function listResources<DB, TB extends keyof DB, Row extends { id: string }>(
  ctx: Context,
  source: Source<DB, TB, Row>,
  query: ListQuery,
): Promise<Listed<Row>> {
  const { type } = source;
  const filter = query.filter ? parseFilter(type, query.filter) : undefined;
  const condition = filter && conditionOf(filter, source.columns);
  const order = orderOf(source, query);
  const limit = Math.min(Math.max(query.count ?? ctx.config.scimDefaultCount, 0), ctx.config.scimMaxCount);
  const binding = JSON.stringify([source.source, type.name, query.filter, query.sortBy, query.sortOrder, limit]);
  const opened = query.cursor == null ? undefined : await openCursor(ctx, query.cursor, binding);
  if (opened && query.startIndex != null)
    throw fault("invalidCursor", "A cursor cannot be combined with startIndex.", "cursor");
  const startIndex = Math.max(query.startIndex ?? 1, 1);
  const offset = opened ? 0 : startIndex - 1;
  const start = opened?.place;

  const read = async (db: Db, isPlanned: boolean) => {
    const ids = await candidatesIn(db, condition, isPlanned);
    if (ids?.length === 0) return { found: [], totalResults: opened?.total ?? 0 };
    const matching = source
      .rows(db)
      .$if(condition !== undefined, (all) => all.where(condition!.matches))
      .$if(ids !== undefined, (all) => all.where(source.id, "=", anyOf(ids!)));
    const list = { db, source, condition, order, isPlanned, matching };
    const found = limit > 0 ? await rowsIn(list, { limit, offset, start }) : [];
    const isEnd = limit > 0 && found.length <= limit && (found.length > 0 || offset === 0) && !start;
    // Pages by cursor repeat the total of the first one.
    return { found, totalResults: opened?.total ?? (isEnd ? offset + found.length : await countOf(list)) };
  };
  // Statements of other forms have many shapes, and some read the whole list.
  const isUsual = !order.sortKey && (!filter || (filter.kind === "compare" && condition?.candidates?.areFew));
  const { found, totalResults } = await (isUsual ? read(ctx.db, false) : inTime(ctx, (db) => read(db, true)));
  const rows = found.slice(0, limit);
  if (!opened) return { totalResults, rows, startIndex };
  const last = rows.at(-1);
  if (!last || found.length <= limit) return { totalResults, rows };
  const place = { id: last.id, keys: last.sortKey === undefined ? [] : [last.sortKey] };
  return { totalResults, rows, nextCursor: await sealCursor(ctx, binding, { place, total: totalResults }) };
}

type Condition = ReturnType<typeof conditionOf> | undefined;

interface List<DB, TB extends keyof DB, Row> {
  db: Db;
  source: Source<DB, TB, Row>;
  condition: Condition;
  order: Order;
  /** The resources that match the filter. */
  matching: Query<DB, TB, Row>;
  /** Whether its statements are planned for their values. */
  isPlanned: boolean;
}

/** Maximum number of candidates of a filter that are looked up by their ids. Among more, a page is found in order. */
const mostCandidates = 1000;

/** Reads the ids of all resources that can match a filter; `undefined` if they are too many, or not known. */
async function candidatesIn(db: Db, condition: Condition, isPlanned: boolean): Promise<string[] | undefined> {
  const { candidates } = condition ?? {};
  if (!candidates) return undefined;
  const { rows } = await sql<{ id: string }>`
    select id from (${candidates.ids}) candidates (id)
    limit ${sql.lit(mostCandidates + 1)} ${isPlanned ? forValues : sql``}`.execute(db);
  return rows.length > mostCandidates ? undefined : [...new Set(rows.map(({ id }) => id))];
}

const forValues = sql.raw(plannedForValues);

/** The rows after the first `offset` ones from a position on. */
interface Range {
  limit: number;
  offset: number;
  start: Position | undefined;
}

/** The limits for which Postgres plans: sizes of pages, plus the row that shows whether more follow. */
const plannedSizes = [101, 1001];

/** Reads the rows of a range, plus one if more follow. */
async function rowsIn<DB, TB extends keyof DB, Row>(
  { db, source, condition, order, matching, isPlanned }: List<DB, TB, Row>,
  { limit, offset, start }: Range,
): Promise<Array<Row & { sortKey?: string }>> {
  const { id } = source;
  const { sortKey, isDescending } = order;
  const direction = isDescending ? "desc" : "asc";
  const keys = sortKey ? sql`${sortKey}, ${id}` : id;
  const place = sql.join([...(start?.keys ?? []), start?.id]);
  const isBeyond = sql<SqlBool>`(${keys}) ${sql.raw(isDescending ? "<" : ">")} (${place})`;
  if (source.ids && !condition && !sortKey) {
    // For a limit that is a parameter, Postgres expects a tenth of the table.
    const planned = sql.lit(plannedSizes.find((size) => size > limit) ?? limit + 1);
    const all = source.ids(db).orderBy(id, direction).limit(planned).offset(offset);
    const page = await all.$if(start !== undefined, (ids) => ids.where(isBeyond)).execute();
    const ids = page.slice(0, limit + 1).map((row) => row.id);
    const rows = matching.where(id, "=", anyOf(ids)).orderBy(id, direction);
    return rows.execute();
  }
  const rows = matching
    .$if(sortKey !== undefined, (all) => all.select(sortKey!.as("sortKey")).orderBy(sortKey!, direction))
    .$if(start !== undefined, (all) => all.where(isBeyond))
    .orderBy(id, direction)
    .limit(limit + 1)
    // Postgres would expect that an offset skips some rows, and plan each lookup of one resource again.
    .$if(offset > 0, (all) => all.offset(offset))
    .$if(isPlanned, (all) => all.modifyEnd(forValues));
  return rows.execute();
}

async function countOf<DB, TB extends keyof DB, Row>({
  db,
  source,
  condition,
  matching,
  isPlanned,
}: List<DB, TB, Row>) {
  if (source.count && !condition) return source.count(db);
  const count = matching.clearSelect().select(({ fn }) => fn.countAll<number>().as("count"));
  const [row] = await (isPlanned ? count.modifyEnd(forValues) : count).execute();
  return (row as { count: number }).count;
}

/** Maximum time of an unusual statement, in milliseconds. */
const mostTime = 5_000;

/** Runs statements that may take long. Throws `tooMany` if one does. */
async function inTime<Result>({ services }: Context, read: (db: Db) => Promise<Result>): Promise<Result> {
  try {
    return await services.database.db.transaction().execute(async (db) => {
      await sql`set local statement_timeout = ${sql.lit(mostTime)}`.execute(db);
      return read(db);
    });
  } catch (error) {
    if ((error as { code?: string }).code !== "57014") throw error;
    throw fault("tooMany", "The filter takes too long. Add a comparison of userName, externalId or an email address.");
  }
}

/** The greatest text, which sorts resources without a value last (RFC 7644 §3.4.2.3). */
const lastOfAll = "\u{10FFFF}";

interface Order {
  /** Text. Absent for the order by id. */
  sortKey?: RawBuilder<string>;
  isDescending: boolean;
}

function orderOf(
  { type, columns }: Pick<Source<never, never, never>, "type" | "columns">,
  { sortBy, sortOrder }: ListQuery,
): Order {
  const isDescending = (sortOrder ?? "").toLowerCase() === "descending";
  if (!sortBy) return { isDescending };
  const place = placeNamed(type, sortBy.trim());
  if (place?.attribute.name === "id") return { isDescending };
  if (!place) throw fault("invalidPath", `There is no attribute ${quote(sortBy)}.`, "sortBy");
  const column = sortedAt(columns, place);
  if (!column) throw fault("invalidPath", `Resources cannot be sorted by ${quote(sortBy)}.`, "sortBy");
  return { sortKey: sql<string>`coalesce(${column}, ${lastOfAll}) collate "C"`, isDescending };
}

/**
 * The text by which resources are sorted; `undefined` for attributes without an order. A multi-valued attribute is sorted
 * by its primary value, else by its first one (RFC 7644 §3.4.2.3).
 */
function sortedAt(columns: Columns, place: Place): RawBuilder<unknown> | undefined {
  const { attribute } = place;
  if (attribute.isMultiValued) {
    const sub = place.sub ?? attributeNamed(attribute.subAttributes, "value");
    if (!sub || columns.lists[attribute.name]) return undefined;
    return textOf(firstAt(columns, { ...place, sub }), sub.type, sub.isCaseExact);
  }
  const { type, returned, isCaseExact } = leafOf(place);
  return type === "complex" || returned === "never" ? undefined : textOf(columnAt(columns, place), type, isCaseExact);
}

/** A value as text in the order of the attribute. */
function textOf(column: RawBuilder<unknown>, type: string, isCaseExact: boolean) {
  if (type === "dateTime") return sql`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS')`;
  return type === "boolean" || isCaseExact ? sql`(${column})::text` : sql`lower((${column}) collate "C")`;
}

/** Where a page by cursor begins, and the total when the list was begun; nothing for the first page. */
interface Opened {
  place?: Position;
  total?: number;
}

interface Stored extends Required<Opened> {
  /** When the cursor was made, in milliseconds. */
  at: number;
  /** The hash of the query that it belongs to. */
  of: string;
}

const purpose = "scim-cursor";

const hashOf = (binding: string): string => hash("sha256", binding, "base64url");

/** Makes the cursor of the next page. It is bound to its query, signed, and can be read by all replicas. */
function sealCursor(ctx: Context, binding: string, opened: Required<Opened>): Promise<string> {
  const stored: Stored = { ...opened, at: databaseTime(), of: hashOf(binding) };
  return ctx.services.seals.seal(purpose, Buffer.from(JSON.stringify(stored)).toString("base64url"));
}

/** Opens a cursor; "" begins a list. Throws `invalidCursor` for a foreign one and `expiredCursor` for an old one. */
async function openCursor(ctx: Context, text: string, binding: string): Promise<Opened> {
  if (text === "") return {};
  const sealed = await ctx.services.seals.open(purpose, text);
  if (sealed === undefined) throw fault("invalidCursor", "The cursor is not valid.", "cursor");
  const { at, of, ...opened } = JSON.parse(Buffer.from(sealed, "base64url").toString()) as Stored;
  if (of !== hashOf(binding)) throw fault("invalidCursor", "The cursor is that of another query.", "cursor");
  if (databaseTime() - at > ctx.config.scimCursorTtl) throw fault("expiredCursor", "The cursor has expired.", "cursor");
  return opened;
}
