import type { Problems } from "./errors.js";
import type { Page } from "./page.js";
import { isStorable, isUuid, utcMoment, wholeNumber } from "./text.js";

/** How a surface asks for a stretch of a list. Absent and null are the same. */
export interface PageArguments {
  first?: number | null;
  after?: string | null;
  last?: number | null;
  before?: string | null;
  /** Rows to leave out, counted from where the page would begin. */
  offset?: number | null;
}

/** The kinds of the values that order a list, before the id. Times are RFC 3339. */
export type OrderKey = "text" | "time";

/** The place of a row in its list. */
export interface Place {
  id: string;
  /** The values that order the list; unknown when the row was named by its id alone. */
  keys?: string[];
}

/** A stretch of a list that is asked for. Statements read it by key: they fetch `limit + 1` rows behind `place`. */
export interface Range {
  limit: number;
  offset: number;
  /** Rows are read from the end, those before `place`. */
  backward: boolean;
  /** The row that the stretch lies behind, or before if `backward`. */
  place?: Place;
}

/** The message under which REST reports faults of the query string. */
export const invalidQuery = "Query parameters have invalid values.";

const usualSize = 100;
const largestSize = 1000;
const largestOffset = 2147483647;

export const pageSizeRule = wholeNumber(0, largestSize);
export const offsetRule = wholeNumber(0, largestOffset);

/**
 * Reads which stretch of a list is wanted: up to 1000 rows, 100 if none are given or 0. `after` and `before` take a
 * cursor of a list with this order or just the id of a row.
 */
export function readRange(args: PageArguments, order: readonly OrderKey[], problems: Problems): Range {
  const sized = (name: "first" | "last") =>
    problems.add(name, isWithin(args[name], largestSize) ? undefined : pageSizeRule);
  const placed = (name: "after" | "before"): Place | undefined => {
    const place = args[name] ? readPlace(args[name], order) : undefined;
    problems.add(name, args[name] && !place ? "Must be a cursor of this list or the id of a row." : undefined);
    return place;
  };
  const backward = args.last != null || Boolean(args.before);
  if (backward) {
    problems.add("first", args.first == null ? undefined : "Cannot be combined with last and before.");
    problems.add("after", args.after ? "Cannot be combined with last and before." : undefined);
  }
  sized(backward ? "last" : "first");
  const place = placed(backward ? "before" : "after");
  problems.add("offset", isWithin(args.offset, largestOffset) ? undefined : offsetRule);
  return {
    limit: (backward ? args.last : args.first) || usualSize,
    offset: args.offset ?? 0,
    backward,
    ...(place && { place }),
  };
}

const isWithin = (value: number | null | undefined, most: number) =>
  value == null || (Number.isInteger(value) && value >= 0 && value <= most);

/** The opaque text for the place of a row: its id and the values that order it. */
export const cursor = (id: string, ...keys: string[]): string =>
  Buffer.from(JSON.stringify([id, ...keys])).toString("base64url");

const longestCursor = 4096;

function readPlace(text: string, order: readonly OrderKey[]): Place | undefined {
  if (isUuid(text)) return { id: text.toLowerCase() };
  const [id, ...keys] = decode(text);
  const fits = keys.length === order.length && keys.every((key, n) => order[n] === "text" || utcMoment(key) === key);
  return id !== undefined && isUuid(id) && fits ? { id, keys } : undefined;
}

/** What a cursor holds; nothing if it is none of ours. */
function decode(text: string): string[] {
  if (text.length > longestCursor || !/^[\w-]+$/.test(text)) return [];
  try {
    const held: unknown = JSON.parse(Buffer.from(text, "base64url").toString());
    return Array.isArray(held) && held.every((each) => typeof each === "string" && isStorable(each)) ? held : [];
  } catch (error) {
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}

/** The page that a statement read for `range`: `fetched` holds up to `limit + 1` rows in the order they were read. */
export function pageOf<Node>(
  { limit, offset, backward, place }: Range,
  fetched: readonly Node[],
  { cursor: cursorOf, count }: Pick<Page<Node>, "cursor" | "count">,
): Page<Node> {
  const nodes = fetched.slice(0, limit);
  const more = fetched.length > limit;
  const skipped = place !== undefined || offset > 0;
  return {
    nodes: backward ? nodes.toReversed() : nodes,
    hasNextPage: backward ? skipped : more,
    hasPreviousPage: backward ? more : skipped,
    cursor: cursorOf,
    count,
  };
}
