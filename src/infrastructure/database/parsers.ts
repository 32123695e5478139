import { type CustomTypesConfig, types as standard } from "pg";

/**
 * Converts a time of Postgres to RFC 3339 in UTC with milliseconds: `2026-11-21 08:15:30.12+00`, or in JSON
 * `2026-11-21T08:15:30.12+00:00` → `2026-11-21T08:15:30.120Z`. Every connection runs in UTC; columns keep milliseconds.
 */
export const rfc3339 = (text: string): string =>
  // The usual time in JSON, with all three digits: fewer texts to put together.
  text.length === 29 && text[10] === "T"
    ? `${text.slice(0, 23)}Z`
    : `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, text.indexOf("+", 19)).padEnd(3, "0")}Z`;

const { builtins } = standard;
const parseBytes = standard.getTypeParser(builtins.BYTEA);

/** Copies bytes into memory of their own: the parsed ones are part of a pool, all 64 kB of which a cached hash would keep. */
function ownBytes(text: string): Buffer {
  const pooled = parseBytes(text) as Buffer;
  const own = Buffer.alloc(pooled.length);
  own.set(pooled);
  return own;
}

const parsers = new Map<number, (text: string) => unknown>([
  [builtins.BYTEA, ownBytes],
  [builtins.INT8, Number],
  [builtins.NUMERIC, Number],
  [builtins.TIMESTAMPTZ, rfc3339],
]);

/** How values of Postgres appear in rows: times as RFC 3339 text, 64-bit integers as numbers. */
export const types: CustomTypesConfig = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    (format !== "binary" && parsers.get(oid)) || standard.getTypeParser(oid, format),
};
