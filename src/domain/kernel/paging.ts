import type { Problems } from "./errors.js";
import { isStorable, isUuid, utcMoment } from "../../runtime/text.js";
import { check, choice, inputOf, type Input, int, optional, required, textWith, type Value } from "./values.js";

const usualSize = 100;
const largestSize = 1000;
const largestOffset = 2147483647;
const longestCursor = 4096;

export const pageSize = int(0, largestSize);

/** A cursor, or the id of a row. `readRange` has its rule. */
export const placeText = textWith({ maxLength: longestCursor });

/** The arguments that select a page of a list. Null is the same as absent. */
export const PageArguments = inputOf({
  first: optional(
    pageSize,
    `The page size, counted from the start of the list, at most ${largestSize}. The default is ${usualSize}.`,
  ),
  after: optional(placeText, "Returns nodes after this cursor or node id."),
  last: optional(pageSize, `The page size, counted from the end of the list, at most ${largestSize}.`),
  before: optional(placeText, "Returns nodes before this cursor or node id."),
  offset: optional(
    int(0, largestOffset),
    `The number of nodes to skip, after the cursor is applied. At most ${largestOffset}; the default is 0. Cursors cost less deep in a list.`,
  ),
});
export type PageArguments = Input<typeof PageArguments>;

/** The direction of an order. */
export const OrderDirection = { ASC: "asc", DESC: "desc" } as const;
export type OrderDirection = (typeof OrderDirection)[keyof typeof OrderDirection];

/** The order of a list: by a field, then by id. Both in the direction. */
export interface OrderBy<Field extends string> {
  field: Field;
  direction: OrderDirection;
}

/** The order of a list by one of these fields, in inputs. */
export const orderOf = <const Fields extends Readonly<Record<string, string>>>(fields: Fields) =>
  inputOf({
    field: required(choice(fields), "The field."),
    direction: required(choice(OrderDirection), "The direction."),
  });

/** The arguments of a list: those of a page, a filter, and an order. `usual` says which order it has without one. */
export const listArguments = <Filter extends Value, Order extends Value>(filter: Filter, order: Order, usual: string) =>
  inputOf({
    ...PageArguments.shape,
    filter: optional(filter, "Filters the list."),
    orderBy: optional(order, `Default: ${usual}.`),
  });

/** The type of an order key. Times are RFC 3339, integers have 32 bits and are not negative. */
export type OrderKey = "text" | "time" | "integer";

/** The keys of an order by name, as cursors hold them: `{ username: "text" }`. */
export type OrderKeys = Readonly<Record<string, OrderKey>>;

/** The position of a row in its list. */
export interface Place {
  id: string;
  /** The values of the order keys; absent if the row is given by its id. */
  keys?: string[];
}

/** The rows of a page: the first `limit` after `place` and `offset`. Statements fetch one more, if there is one. */
export interface Range {
  limit: number;
  offset: number;
  /** Reads the last rows before `place` instead. */
  isBackward: boolean;
  place?: Place;
}

/** The message of faults in the query string of REST requests. */
export const invalidQuery = "Query parameters have invalid values.";

export const placeRule = "Must be a cursor of this list or the id of a row.";

/**
 * Parses paging arguments and adds their faults to `problems`. Pages have up to 1000 rows, by default and for 0, 100.
 * `after` and `before` take a cursor with the keys of this order, or the id of a row: a UUID, unless `isId` says
 * otherwise.
 */
export function readRange(args: PageArguments, order: OrderKeys, problems: Problems, isId = isUuid): Range {
  const checkOf = (name: "first" | "last" | "offset") => check(PageArguments, { [name]: args[name] }, problems);
  const placeOf = (name: "after" | "before"): Place | undefined => {
    const place = args[name] ? readPlace(args[name], order, isId) : undefined;
    problems.add(name, args[name] && !place ? placeRule : undefined);
    return place;
  };
  const isBackward = args.last != null || Boolean(args.before);
  if (isBackward) {
    problems.add("first", args.first == null ? undefined : "Cannot be combined with last and before.");
    problems.add("after", args.after ? "Cannot be combined with last and before." : undefined);
  }
  checkOf(isBackward ? "last" : "first");
  const place = placeOf(isBackward ? "before" : "after");
  checkOf("offset");
  return {
    limit: (isBackward ? args.last : args.first) || usualSize,
    offset: args.offset ?? 0,
    isBackward,
    ...(place && { place }),
  };
}

/** Encodes the position of a row, its id and its order keys by name, as an opaque cursor. */
export const cursor = (id: string, keys: Readonly<Record<string, string>>): string =>
  Buffer.from(JSON.stringify({ id, ...keys })).toString("base64url");

/** Returns the position of an id or a cursor; `undefined` for any other text, such as a cursor with other keys. */
function readPlace(text: string, order: OrderKeys, isId: typeof isUuid): Place | undefined {
  if (isId(text)) return { id: isUuid(text) ? text.toLowerCase() : text };
  const { id, ...keys } = decode(text);
  const held = Object.entries(keys);
  const names = Object.keys(order);
  const isKey = ([name, key]: [string, string], n: number) => name === names[n] && isOfType(order[name]!, key);
  const fits = held.length === names.length && held.every(isKey);
  return id !== undefined && isId(id) && fits ? { id, keys: Object.values(keys) } : undefined;
}

const isOfType = (type: OrderKey, key: string): boolean =>
  type === "text" || (type === "time" ? utcMoment(key) === key : /^\d{1,9}$/.test(key));

/** Decodes a cursor; returns an empty object for any other text. */
function decode(text: string): Record<string, string> {
  if (text.length > longestCursor || !/^[\w-]+$/.test(text)) return {};
  try {
    const held: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return holdsText(held) ? held : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

const holdsText = (held: unknown): held is Record<string, string> =>
  typeof held === "object" &&
  held !== null &&
  Object.values(held).every((each) => typeof each === "string" && isStorable(each));

/** Returns the page of a range. `fetched` has up to `limit + 1` rows, in the order of the statement. */
export function pageOf<Node>(
  { limit, offset, isBackward, place }: Range,
  fetched: readonly Node[],
  { cursor: cursorOf, count }: Pick<Page<Node>, "cursor" | "count">,
): Page<Node> {
  const nodes = fetched.slice(0, limit);
  const more = fetched.length > limit;
  const skipped = place !== undefined || offset > 0;
  const isWholeList = !skipped && !more;
  return {
    nodes: isBackward ? nodes.toReversed() : nodes,
    hasNextPage: isBackward ? skipped : more,
    hasPreviousPage: isBackward ? more : skipped,
    cursor: cursorOf,
    count: isWholeList ? () => Promise.resolve(nodes.length) : count,
  };
}

/** A page of a list. Methods are evaluated on demand; `count` executes a statement unless the page is the whole list. */
export interface Page<Node> {
  nodes: Node[];
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  /** The opaque cursor of a node, for `after` and `before`. */
  cursor(node: Node): string;
  /**
   * The number of matching rows that the caller may read, on all pages. Lists whose counts are limited unless
   * `isExact` say so.
   */
  count(isExact?: boolean): Promise<number>;
}
