import {
  type AliasedExpression,
  type Expression,
  type ExpressionBuilder,
  type RawBuilder,
  type SelectQueryBuilder,
  sql,
  type SqlBool,
} from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { anyOf, containing, type Match } from "./queries.js";
import { databaseTime, instantOf } from "../../runtime/clock.js";
import type { Context } from "./context.js";
import { Problems } from "./errors.js";
import { endsOfMonths, type Months, type MonthWindow, windowsOf } from "./months.js";
import {
  cursor,
  invalidQuery,
  type OrderBy,
  OrderDirection,
  type OrderKey,
  type Page,
  type PageArguments,
  pageOf,
  type Range,
  readRange,
} from "./paging.js";
import { isUuid } from "../../runtime/text.js";

/** A column by which a list is ordered. */
interface Key<Row> {
  /** The column in the list's query, such as `g.name`, as its index has it. */
  column: RawBuilder<unknown>;
  type: OrderKey;
  /** Its value in a row. */
  of: (row: Row) => string;
}

interface KeyOptions<Row> {
  /** Default: the property of the row that has the name of the column. */
  of?: (row: Row) => string;
  /** The collation in the index. Default: that of the column. */
  collation?: "C";
}

/** An order key of text: a column, or an expression with the option `of`. */
export const text = <Row>(column: string | RawBuilder<unknown>, options?: KeyOptions<Row>): Key<Row> =>
  keyOf("text", column, options);

/** An order key of times. */
export const time = <Row>(column: string, options?: KeyOptions<Row>): Key<Row> => keyOf("time", column, options);

/** An order key of integers with 32 bits that are not negative. */
export const integer = <Row>(column: string, options?: KeyOptions<Row>): Key<Row> => keyOf("integer", column, options);

function keyOf<Row>(
  type: OrderKey,
  column: string | RawBuilder<unknown>,
  { of, collation }: KeyOptions<Row> = {},
): Key<Row> {
  const isName = typeof column === "string";
  const property = isName ? column.slice(column.indexOf(".") + 1) : "";
  const ref = isName ? sql.ref(column) : column;
  return {
    column: collation ? sql`${ref} collate "C"` : ref,
    type,
    of: of ?? ((row) => String((row as Record<string, unknown>)[property])),
  };
}

type Query<DB, TB extends keyof DB, Row> = SelectQueryBuilder<DB, TB, Row>;

/** A condition for each filter that has a value. */
type Filters<DB, TB extends keyof DB, Values> = {
  [Name in keyof Values]-?: (
    eb: ExpressionBuilder<DB, TB>,
    value: NonNullable<Values[Name]>,
    ctx: Context,
  ) => Expression<SqlBool>;
};

interface Definition<DB, TB extends keyof DB, Row, Values, Order extends string> {
  /**
   * The column of the id, which ends each order, its value in a row, and the form of ids in cursors. Default: UUIDs.
   */
  id: { column: string; of: (row: Row) => string; isId?: (text: string) => boolean };
  /** The first one is the default. Each needs an index of its columns and the id. */
  orders: Record<Order, Record<string, Key<Row>>>;
  filters: Filters<DB, TB, Values>;
  /** Filters whose best index depends on their value, such as searches: their statements are planned for the values. */
  planned?: ReadonlyArray<keyof Values>;
  /**
   * Further rows, such as former members, whose position is looked up by id: a page can then begin after a row that has
   * left the list. An item of a FROM clause with the columns of the orders and the id.
   */
  formerRows?: (ctx: Context) => RawBuilder<unknown>;
  /** A further column, from the columns of a `page`: it is read for no row before the page, and for none that is counted. */
  pageColumn?: AliasedExpression<unknown, string>;
  /** Whether its pages may be read from a standby: those of large lists by which nothing is decided. */
  mayUseStandby?: boolean;
  /** Its table, if it has a partition for each month: its orders begin with the time. It is read some months at a time. */
  months?: Months<Values>;
  /** Maximum count, unless the exact number is requested. Default: `mostCounted`. */
  mostCounted?: number;
}

/** The arguments of a list: filters, order, and page. */
export interface ListQuery<Values, Order extends string> {
  filter?: { readonly [Name in keyof Values]?: Values[Name] | null } | null;
  orderBy?: OrderBy<Order> | null;
  page?: PageArguments;
  /** Reads the whole list, up to this number of rows, instead of a page. */
  most?: number;
}

/** Maximum count of a list, unless its contract requires the exact number: as many as the largest page has. */
export const mostCounted = 1000;

/** The limits for which Postgres plans: sizes of pages, plus the row that shows whether more follow. */
const plannedSizes = [101, 1001];

/**
 * A list: the rows that the caller may read, narrowed by filters, in an order, in pages by key. A page takes one
 * statement, and so do the pages of one list for many owners, such as the members of each group of a page.
 */
class List<DB, TB extends keyof DB, Row, Values, Order extends string> {
  constructor(
    private readonly rows: (ctx: Context, owner: Expression<string>) => Query<DB, TB, Row>,
    private readonly definition: Definition<DB, TB, Row, Values, Order>,
  ) {}

  /** Reads a page. Throws the faults of the paging arguments together with the given ones. */
  async page(ctx: Context, query: ListQuery<Values, Order>, problems = new Problems()): Promise<Page<Row>> {
    const read = this.#read(query, problems);
    const run = <Result>(work: (on: Context) => Promise<Result>) =>
      this.definition.mayUseStandby ? ctx.readOnStandby(work) : work(ctx);
    const rows = await run((on) => (this.definition.months ? this.#rowsByMonths(on, read) : this.#rowsOf(on, read)));
    return this.#pageOf(read, rows, (isExact) =>
      run((on) =>
        this.definition.months ? this.#countByMonths(on, read, isExact) : this.#countOfAll(on, read, isExact),
      ),
    );
  }

  #rowsOf = (ctx: Context, read: Read<Row, Values>) => this.#statement(ctx, read, nobody).execute();

  #countOfAll = async (ctx: Context, read: Read<Row, Values>, isExact = false) =>
    (await this.#counting(ctx, read, nobody, isExact).executeTakeFirstOrThrow()).count;

  /** Reads a page some months at a time, until it is full. */
  async #rowsByMonths(ctx: Context, given: Read<Row, Values>): Promise<Row[]> {
    const read = await this.#withKeys(ctx, given);
    if (!read) return [];
    const { limit } = read.range;
    let { offset } = read.range;
    const rows: Row[] = [];
    for (const window of await this.#windows(ctx, read, read.isDescending)) {
      const part = { ...read, window, range: { ...read.range, limit: limit - rows.length, offset } };
      const found = await this.#rowsOf(ctx, part);
      rows.push(...found);
      if (rows.length > limit) break;
      if (found.length > 0) offset = 0;
      else if (offset > 0) offset -= (await this.countSkipped(ctx, part).executeTakeFirstOrThrow()).count;
    }
    return rows;
  }

  /** Counts some months at a time, the last ones first, until there are as many as are counted. */
  async #countByMonths(ctx: Context, read: Read<Row, Values>, isExact = false): Promise<number> {
    const most = isExact ? Infinity : (this.definition.mostCounted ?? mostCounted);
    let count = 0;
    for (const window of await this.#windows(ctx, { ...read, range: { ...read.range, place: undefined } }, true)) {
      count += await this.#countOfAll(ctx, { ...read, window }, isExact);
      if (count >= most) return most;
    }
    return count;
  }

  /** The windows of the times that the filter and the place leave. */
  async #windows(ctx: Context, { filter, range: { place } }: Read<Row, Values>, isDescending: boolean) {
    const months = this.definition.months!;
    const { after, before } = months.period?.(filter) ?? {};
    const at = place?.keys?.[0];
    return windowsOf(months, {
      ends: await endsOfMonths(ctx.services.database, months.table),
      now: databaseTime(),
      isDescending,
      from: Math.max(-Infinity, ...instants(after, isDescending ? null : at)),
      until: Math.min(Infinity, ...instants(before, isDescending ? at : null)) + 1,
    });
  }

  /** Looks up the keys of a place that is given by its id. Undefined if the list has no such row. */
  async #withKeys(ctx: Context, read: Read<Row, Values>): Promise<Read<Row, Values> | undefined> {
    const { place } = read.range;
    if (!place || place.keys) return read;
    const isIt = sql<SqlBool>`${sql.ref(this.definition.id.column)} = ${place.id}`;
    const [row] = await this.rows(ctx, nobody).where(isIt).execute();
    const keys = row && Object.values(read.keys).map(({ of }) => of(row as Row));
    return keys && { ...read, range: { ...read.range, place: { ...place, keys } } };
  }

  /** The number of rows that the offset of a part skips. */
  countSkipped(ctx: Context, read: Read<Row, Values>) {
    const rows = this.#after(ctx, read, nobody).clearSelect().select(sql.lit(1).as("one")).limit(read.range.offset);
    const count = ctx.db.selectFrom(rows.as("skipped")).select(({ fn }) => fn.countAll<number>().as("count"));
    return count.modifyEnd(sql.raw(plannedForValues));
  }

  /** Reads the page of an owner, in one statement with those of all owners of the request. */
  async pageOf(ctx: Context, owner: string, query: ListQuery<Values, Order>, problems = new Problems()) {
    const read = this.#read(query, problems);
    const wanted = { owner, read };
    const rows = await ctx.load(this.#readAll, wanted);
    return this.#pageOf(read, rows, (isExact) => ctx.load(isExact ? this.#countAllExactly : this.#countAll, wanted));
  }

  #read({ filter, orderBy, page = {}, most }: ListQuery<Values, Order>, problems: Problems): Read<Row, Values> {
    const names = Object.keys(this.definition.orders) as Order[];
    const keys = this.definition.orders[orderBy?.field ?? names[0]!];
    const types = Object.fromEntries(Object.entries(keys).map(([name, { type }]) => [name, type]));
    const { isId } = this.definition.id;
    const range =
      most === undefined ? readRange(page, types, problems, isId) : { limit: most, offset: 0, isBackward: false };
    problems.throwIfAny(invalidQuery);
    const isDescending = (orderBy?.direction === OrderDirection.DESC) !== range.isBackward;
    const given = Object.entries(filter ?? {}).filter(([, value]) => value != null && value !== "");
    return { keys, range, isDescending, filter: Object.fromEntries(given) as Partial<Values> };
  }

  #pageOf({ keys, range }: Read<Row, Values>, rows: Row[], count: Page<Row>["count"]): Page<Row> {
    const values = (row: Row) => Object.fromEntries(Object.entries(keys).map(([name, { of }]) => [name, of(row)]));
    return pageOf(range, rows, { cursor: (row) => cursor(this.definition.id.of(row), values(row)), count });
  }

  /** The rows of a range, plus one if more follow. */
  #statement(ctx: Context, read: Read<Row, Values>, owner: Expression<string>) {
    const { keys, range, isDescending } = read;
    const { limit, offset } = range;
    const { pageColumn } = this.definition;
    let rows = this.#after(ctx, read, owner);
    for (const column of this.#columns(keys)) rows = rows.orderBy(column, isDescending ? "desc" : "asc");
    const planned = plannedSizes.find((size) => size > limit) ?? limit + 1;
    const page = rows.limit(sql.lit(planned)).$if(offset > 0, (from) => from.offset(offset));
    const isPlanned = this.#isPlannedForValues(read);
    // Postgres would plan for the limit outside, and walk an order through rows that do not match.
    const from = isPlanned
      ? ctx.db
          .with(
            (cte) => cte("page").materialized(),
            () => page,
          )
          .selectFrom("page")
      : ctx.db.selectFrom(page.as("page"));
    const all = from
      .selectAll()
      .$if(pageColumn !== undefined, (rest) => rest.select(pageColumn!))
      .limit(limit + 1);
    return (isPlanned ? all.modifyEnd(sql.raw(plannedForValues)) : all) as unknown as Query<DB, TB, Row>;
  }

  /** The rows that match and follow the place. */
  #after(ctx: Context, read: Read<Row, Values>, owner: Expression<string>): Query<DB, TB, Row> {
    const { keys, isDescending, range } = read;
    const { place } = range;
    const rows = this.#matching(ctx, read, owner);
    if (!place) return rows;
    const refs = sql.join(this.#columns(keys));
    const start = place.keys ? sql.join([...place.keys, place.id]) : this.#placeOf(ctx, place.id, refs, owner);
    return rows.where(sql<SqlBool>`(${refs}) ${sql.raw(isDescending ? "<" : ">")} (${start})`);
  }

  /** Selects the order keys and the id of a row, which a cursor would have. */
  #placeOf(ctx: Context, id: string, refs: RawBuilder<unknown>, owner: Expression<string>) {
    const isIt = sql<SqlBool>`${sql.ref(this.definition.id.column)} = ${id}`;
    const own = this.rows(ctx, owner)
      .clearSelect()
      .where(isIt)
      .select(sql`${refs}`.as("place"));
    const former = this.definition.formerRows?.(ctx);
    if (!former) return own;
    return sql`select * from (${own} union all select ${refs} from ${former} where ${isIt}) place limit 1`;
  }

  /** The number of rows that match: all of them, or up to `mostCounted`. */
  #counting(ctx: Context, read: Read<Row, Values>, owner: Expression<string>, isExact = false) {
    const rows = this.#matching(ctx, read, owner).clearSelect().select(sql.lit(1).as("one"));
    const count = ctx.db
      .selectFrom((isExact ? rows : rows.limit(sql.lit(this.definition.mostCounted ?? mostCounted))).as("counted"))
      .select(({ fn }) => fn.countAll<number>().as("count"));
    return this.#isPlannedForValues(read) ? count.modifyEnd(sql.raw(plannedForValues)) : count;
  }

  #matching(ctx: Context, read: Read<Row, Values>, owner: Expression<string>): Query<DB, TB, Row> {
    const { filter, window, keys } = read;
    let rows = this.rows(ctx, owner);
    if (window) for (const condition of this.#inWindow(window, keys, window.isUsual)) rows = rows.where(condition);
    for (const name of Object.keys(filter) as Array<keyof Values>)
      rows = rows.where((eb) =>
        this.definition.filters[name](eb, filter[name] as NonNullable<Values[keyof Values]>, ctx),
      );
    return rows;
  }

  /**
   * The conditions of a window. Postgres leaves out the other months when it plans: for the last months, with which most
   * lists begin, they are a part of the statement, which is prepared, and otherwise it is planned for its values.
   */
  #inWindow({ from, until, firstId, endId }: MonthWindow, keys: Record<string, Key<Row>>, isPrepared: boolean) {
    const id = sql.ref(this.definition.id.column);
    const { column } = Object.values(keys)[0]!;
    const value = (given: string) => (isPrepared ? sql.lit(given) : sql`${given}`);
    const instant = (at: number) => sql`${value(new Date(at).toISOString())}::timestamptz`;
    return [
      ...(firstId === undefined ? [] : [sql<SqlBool>`${id} >= ${value(firstId)}::uuid`]),
      ...(endId === undefined ? [] : [sql<SqlBool>`${id} < ${value(endId)}::uuid`]),
      ...(from === undefined ? [] : [sql<SqlBool>`${column} >= ${instant(from)}`]),
      ...(until === undefined ? [] : [sql<SqlBool>`${column} < ${instant(until)}`]),
    ];
  }

  #columns = (keys: Record<string, Key<Row>>) => [
    ...Object.values(keys).map(({ column }) => column),
    sql.ref(this.definition.id.column),
  ];

  #isPlannedForValues = ({ filter, window }: Read<Row, Values>) =>
    window?.isUsual === false ||
    Object.keys(filter).length > 1 ||
    this.definition.planned?.some((name) => filter[name] !== undefined);

  readonly #readAll = (ctx: Context, wanted: ReadonlyArray<Wanted<Row, Values>>): Promise<Row[][]> =>
    this.#together(wanted, async (read, owners) => {
      const rows = await readEach(ctx, owners, (owner) => this.#statement(ctx, read, owner));
      return owners.map((owner) => rows.get(owner) ?? []);
    });

  readonly #countAll = (ctx: Context, wanted: ReadonlyArray<Wanted<Row, Values>>) => this.#countOf(ctx, wanted, false);
  readonly #countAllExactly = (ctx: Context, wanted: ReadonlyArray<Wanted<Row, Values>>) =>
    this.#countOf(ctx, wanted, true);

  #countOf(ctx: Context, wanted: ReadonlyArray<Wanted<Row, Values>>, isExact: boolean): Promise<number[]> {
    return this.#together(wanted, async (read, owners) => {
      const rows = await readEach(ctx, owners, (owner) => this.#counting(ctx, read, owner, isExact));
      return owners.map((owner) => rows.get(owner)![0]!.count);
    });
  }

  /** Reads the values of owners, together for those with the same query. */
  async #together<Value>(
    wanted: ReadonlyArray<Wanted<Row, Values>>,
    read: (query: Read<Row, Values>, owners: readonly string[]) => Promise<Value[]>,
  ): Promise<Value[]> {
    const values = new Map<Wanted<Row, Values>, Value>();
    const alike = Map.groupBy(wanted, ({ read: { range, isDescending, filter, keys } }) =>
      JSON.stringify([Object.keys(keys), range, isDescending, filter]),
    );
    const reads = Array.from(alike.values(), async (same) => {
      const found = await read(
        same[0]!.read,
        same.map(({ owner }) => owner),
      );
      for (const [index, each] of same.entries()) values.set(each, found[index]!);
    });
    await Promise.all(reads);
    return wanted.map((each) => values.get(each)!);
  }
}

/** A parsed query. */
interface Read<Row, Values> {
  keys: Record<string, Key<Row>>;
  range: Range;
  isDescending: boolean;
  filter: Partial<Values>;
  /** The part of the list that is read. Default: all of it. */
  window?: MonthWindow;
}

/** The instants of times that are given. */
const instants = (...moments: Array<string | null | undefined>): number[] =>
  moments.flatMap((moment) => (moment ? instantOf(moment) : []));

/** The owner of lists that have none. */
const nobody = sql<string>`null`;

interface Wanted<Row, Values> {
  owner: string;
  read: Read<Row, Values>;
}

/** Reads rows of several objects in one statement, by the ids of the objects. `rowsOf` selects those of one object. */
export async function readEach<DB, TB extends keyof DB, Row>(
  ctx: Context,
  ids: readonly string[],
  rowsOf: (owner: Expression<string>) => Query<DB, TB, Row>,
): Promise<Map<string, Row[]>> {
  const [id, ...others] = new Set(ids);
  if (id === undefined) return new Map();
  // For a single object, its id is a parameter instead of a row of a join: Postgres finds a better plan.
  if (others.length === 0) return new Map([[id, await rowsOf(sql`${id}::uuid`).execute()]]);
  const owners = sql<{ id: string }>`unnest(${[id, ...others]}::uuid[])`.as<"owner">(sql`owner (id)`);
  const rows = await ctx.db
    .selectFrom(owners)
    .innerJoinLateral(rowsOf(sql.ref("owner.id")).as("page"), (join) => join.onTrue())
    .select("owner.id as objectId")
    .selectAll("page")
    .execute();
  return Map.groupBy(rows as Array<Row & { objectId: string }>, ({ objectId }) => objectId);
}

/** Declares a list of all rows that the caller may read, such as the groups of the deployment. */
export const defineList = <DB, TB extends keyof DB, Row, Values, Order extends string>(
  rows: (ctx: Context) => Query<DB, TB, Row>,
  definition: Definition<DB, TB, Row, Values, Order>,
): Pick<List<DB, TB, Row, Values, Order>, "page"> => new List(rows, definition);

/**
 * Declares a list that each object of a kind has, such as the members of a group. `rows` selects those of the owner.
 */
export const defineListOfEach = <DB, TB extends keyof DB, Row, Values, Order extends string>(
  rows: (ctx: Context, owner: Expression<string>) => Query<DB, TB, Row>,
  definition: Definition<DB, TB, Row, Values, Order>,
): Pick<List<DB, TB, Row, Values, Order>, "pageOf"> => new List(rows, definition);

/** The condition that a column contains a text or begins with it, in any letter case. Trigram indexes have its form. */
export const contains = (column: string, part: string, match: Match = containing) =>
  sql<SqlBool>`lower(${sql.ref(column)}) collate "C" like lower(${match(part)}::text)`;

/**
 * The condition that a column has the id of one of these organizations. Postgres plans each execution of a statement
 * with this condition: it then sorts the few rows of a small organization instead of searching all rows in list order.
 */
export const inOrganizations = (column: string, ids: readonly string[]) =>
  sql<SqlBool>`${sql.ref(column)} = ${anyOf(ids)} ${sql.raw(plannedForValues)}`;

/** Resolves a reference to an id. Returns an id unchanged, known or not; resolves a name by `find`. */
export const idNamed = async (
  ctx: Context,
  reference: string,
  find: (ctx: Context, name: string) => Promise<{ id: string }>,
): Promise<string> => (isUuid(reference) ? reference : (await find(ctx, reference)).id);
