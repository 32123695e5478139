import { run } from "../../infrastructure/database/database.js";
import type { Context } from "../kernel/context.js";
import { countAllMatches, matchesIn, type Order, rowsIn, type Search } from "../kernel/list.js";
import type { Place as Position, Range } from "../kernel/paging.js";
import { allOf, type Sql, sql } from "../kernel/sql.js";
import { quote } from "../kernel/errors.js";
import { columnAt, type Columns, conditionOf, firstAt } from "./conditions.js";
import { openCursor, sealCursor } from "./cursors.js";
import { fault } from "./faults.js";
import { parseFilter } from "./filter.js";
import { attributeNamed, leafOf, type Place, placeNamed } from "./paths.js";
import type { ResourceType } from "./schema.js";

/** The parameters of a list (RFC 7644 §3.4.2, RFC 9865). Null is the same as absent. */
export interface ListQuery {
  filter?: string | null;
  sortBy?: string | null;
  sortOrder?: string | null;
  /** From 1. Smaller numbers are 1. */
  startIndex?: number | null;
  /** Smaller than 0 is 0, which only counts. */
  count?: number | null;
  /** Empty for the first page. */
  cursor?: string | null;
}

/** A page of resources. `startIndex` is absent for pages by cursor. */
export interface Listed<Row> {
  totalResults: number;
  startIndex?: number;
  rows: Row[];
  nextCursor?: string;
}

/** A list of resources of a type in SQL. */
export interface Source {
  type: ResourceType;
  /** Label of the identity provider, to which cursors are bound. */
  source: string;
  columns: Columns;
  selected: Sql;
  /** `from … where …` with a further condition. */
  from: (condition: Sql) => Sql;
  id: Sql;
  /**
   * `from … where …` of the whole list by an index on the id alone, with a further condition, if that is faster: the rows
   * of a page are then looked up by their ids.
   */
  ids?: (condition?: Sql) => Sql;
  /** Counts the whole list by indexes, if there is a faster way than by its rows. */
  total?: Sql;
}

/** Lists resources by the sorted attribute, then by id: new resources come last. */
export async function listResources<Row extends { id: string }>(
  ctx: Context,
  source: Source,
  query: ListQuery,
): Promise<Listed<Row>> {
  const { type } = source;
  const list = selectionOf<Row>(source, query);
  const limit = Math.min(Math.max(query.count ?? ctx.config.scimDefaultCount, 0), ctx.config.scimMaxCount);
  const binding = JSON.stringify([source.source, type.name, query.filter, query.sortBy, query.sortOrder, limit]);
  const opened = query.cursor == null ? undefined : await openCursor(ctx, query.cursor, binding);
  if (opened && query.startIndex != null)
    throw fault("invalidCursor", "A cursor cannot be combined with startIndex.", "cursor");
  const startIndex = Math.max(query.startIndex ?? 1, 1);
  const offset = opened ? 0 : startIndex - 1;
  const range: Range = { limit, offset, backward: false, ...(opened?.place && { place: opened.place }) };

  const rows = limit > 0 ? await list.rows(ctx, range) : [];
  const isEnd = limit > 0 && rows.length <= limit && (rows.length > 0 || offset === 0) && !opened?.place;
  // Pages by cursor repeat the total of the first one.
  const totalResults = opened?.total ?? (isEnd ? offset + rows.length : await list.count(ctx));
  const page = rows.slice(0, limit);
  if (!opened) return { totalResults, rows: page, startIndex };
  const last = page.at(-1);
  if (!last || rows.length <= limit) return { totalResults, rows: page };
  const place: Position = { id: last.id, keys: last.sortKey === undefined ? [] : [last.sortKey] };
  return { totalResults, rows: page, nextCursor: await sealCursor(ctx, binding, { place, total: totalResults }) };
}

type Keyed<Row> = Row & { sortKey?: string };

/** The statements of a list. */
function selectionOf<Row>(source: Source, query: ListQuery) {
  const { type, columns, selected, from, id } = source;
  const filter = query.filter ? parseFilter(type, query.filter) : undefined;
  const { matches, candidates } = filter ? conditionOf(filter, columns) : {};
  const { order, sortKey } = orderOf(source, query);
  const all = sortKey ? sql`${selected}, ${sortKey} as "sortKey"` : selected;
  const only = candidates?.areFew ? sql`${id} = any(array(${candidates.ids}))` : undefined;
  const list = (more?: Sql) => from(allOf(only, matches, more));
  const select = (beyond?: Sql) => sql`select ${all} ${list(beyond)}`;
  const counted = (filter ? undefined : source.total) ?? sql`select count(*) ${list()}`;
  const search: Search | undefined =
    matches && candidates && !candidates.areFew
      ? { columns: all, from: (more) => from(more ?? sql`true`), matches, candidates: candidates.ids }
      : undefined;
  // Statements of other forms have many shapes, and some read the whole list.
  const whole = filter || sortKey ? undefined : source.ids;
  const isUsual = order.keys.length === 0 && (!filter || (filter.kind === "compare" && candidates !== undefined));
  return {
    rows: (ctx: Context, range: Range): Promise<Array<Keyed<Row>>> =>
      read(
        ctx,
        isUsual,
        whole
          ? looked(
              source,
              order,
              rowsIn(range, order, (beyond) => sql`select ${id} as id ${whole(beyond)}`, whole),
            )
          : search
            ? matchesIn(range, order, search)
            : rowsIn(range, order, select),
      ),
    count: async (ctx: Context): Promise<number> => {
      const count = search ? countAllMatches(order, search, counted) : counted;
      const [row] = await read<{ count: number }>(ctx, isUsual, count);
      return row!.count;
    },
  };
}

/** Looks up the rows of a page of ids one by one: Postgres would join all rows of the tables up to the page. */
const looked = ({ selected, from, id }: Source, { isDescending = false }: Order, page: Sql): Sql => sql`
  select r.* from (${page}) page cross join lateral (select ${selected} ${from(sql`${id} = page.id`)} offset 0) r
  order by page.id${isDescending ? sql` desc` : sql``}`;

/** Maximum time of an unusual statement, in milliseconds. */
const mostTime = 5_000;

const shortTime = { text: `set local statement_timeout = ${mostTime}` };

/** Reads rows. Unusual statements are planned for each use, and end after five seconds with `tooMany`. */
async function read<Row>(ctx: Context, isUsual: boolean, statement: Sql): Promise<Row[]> {
  if (isUsual) return ctx.select<Row>(statement);
  const { text, values } = statement;
  try {
    return await ctx.services.database.db.transaction().execute(async (transaction) => {
      await run(transaction, shortTime, []);
      return run<Row>(transaction, { text, isPlannedForValues: true }, values);
    });
  } catch (error) {
    if ((error as { code?: string }).code !== "57014") throw error;
    throw fault("tooMany", "The filter takes too long. Add a comparison of userName, externalId or an email address.");
  }
}

/** The greatest text, which sorts resources without a value last (RFC 7644 §3.4.2.3). */
const lastOfAll = "\u{10FFFF}";

function orderOf({ type, columns, id }: Source, { sortBy, sortOrder }: ListQuery): { order: Order; sortKey?: Sql } {
  const isDescending = (sortOrder ?? "").toLowerCase() === "descending";
  if (!sortBy) return { order: { keys: [], id, isDescending } };
  const place = placeNamed(type, sortBy.trim());
  if (place?.attribute.name === "id") return { order: { keys: [], id, isDescending } };
  if (!place) throw fault("invalidPath", `There is no attribute ${quote(sortBy)}.`, "sortBy");
  const column = sortedAt(columns, place);
  if (!column) throw fault("invalidPath", `Resources cannot be sorted by ${quote(sortBy)}.`, "sortBy");
  const sortKey = sql`coalesce(${column}, ${lastOfAll}) collate "C"`;
  // Cursors carry the key, so that no row is read by its id.
  return { order: { keys: [{ column: sortKey, ofPlace: () => sql`null` }], id, isDescending }, sortKey };
}

/**
 * The text by which resources are sorted; `undefined` for attributes without an order. A multi-valued attribute is sorted
 * by its primary value, else by its first one (RFC 7644 §3.4.2.3).
 */
function sortedAt(columns: Columns, place: Place): Sql | undefined {
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
function textOf(column: Sql, type: string, isCaseExact: boolean): Sql {
  if (type === "dateTime") return sql`to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS')`;
  return type === "boolean" || isCaseExact ? sql`(${column})::text` : sql`lower((${column}) collate "C")`;
}
