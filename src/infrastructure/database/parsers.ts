import { type CustomTypesConfig, types as standard } from "pg";

/** A time as a session writes it that runs in UTC and has `DateStyle` ISO, and as JSON has it. */
const written = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d{1,6})?\+00(?::00)?$/;

/**
 * Converts a time of Postgres to RFC 3339 in UTC with milliseconds: `2026-11-21 08:15:30.12+00`, or in JSON
 * `2026-11-21T08:15:30.12+00:00` → `2026-11-21T08:15:30.120Z`. Every connection runs in UTC; columns keep milliseconds.
 * Throws on another form: a time that cannot be read must not be taken for one that never comes.
 */
export function rfc3339(text: string): string {
  if (!written.test(text)) throw new Error(`A time of the database cannot be read: ${JSON.stringify(text)}.`);
  // The usual time in JSON, with all three digits: fewer texts to put together.
  return text.length === 29 && text[10] === "T"
    ? `${text.slice(0, 23)}Z`
    : `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, text.indexOf("+", 19)).padEnd(3, "0")}Z`;
}

const { builtins } = standard;
const parseBytes = standard.getTypeParser(builtins.BYTEA);

/** Copies bytes into memory of their own: the parsed ones are part of a pool, all 64 kB of which a cached hash would keep. */
function ownBytes(text: string): Buffer {
  const pooled = parseBytes(text) as Buffer;
  const own = Buffer.alloc(pooled.length);
  own.set(pooled);
  return own;
}

/** No column is a time without a zone, of which `pg` would make null if it could not read it. */
function rejectLocal(): never {
  throw new Error("Times without a time zone are read as text.");
}

/** Returns a day such as `2026-11-21`. Throws on another form, of which `pg` would make null. */
function isoDay(text: string): string {
  if (!/^\d{4}-\d\d-\d\d$/.test(text))
    throw new Error(`A day of the database cannot be read: ${JSON.stringify(text)}.`);
  return text;
}

/** The object id of the type `timestamptz[]`, which the library does not name. */
const timestamptzArray = 1185;

/** Converts an array of times, none of which is null, such as `{"2026-11-21 08:15:30+00"}`. Throws on another form, as `rfc3339`. */
function rfc3339Array(text: string): string[] {
  const [, inner] = /^\{(.*)\}$/.exec(text) ?? [];
  if (inner === undefined) throw new Error(`Times of the database cannot be read: ${JSON.stringify(text)}.`);
  return inner === "" ? [] : inner.split(",").map((each) => rfc3339(each.replace(/^"(.*)"$/, "$1")));
}

const parsers = new Map<number, (text: string) => unknown>([
  [builtins.BYTEA, ownBytes],
  [builtins.INT8, Number],
  [builtins.NUMERIC, Number],
  [builtins.TIMESTAMPTZ, rfc3339],
  [timestamptzArray, rfc3339Array],
  [builtins.TIMESTAMP, rejectLocal],
  [builtins.DATE, isoDay],
]);

/** How values of Postgres appear in rows: times as RFC 3339 text, 64-bit integers as numbers. */
export const types: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" && parsers.get(oid)) || standard.getTypeParser(oid, format),
};
