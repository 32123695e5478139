/** A time as text, in the form it has in every row. */
export const timeText = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Columns of times end in `_at`; they are named with the alias of their table. */
const times = /\b\w+\.\w+_at\b/g;

/** The columns of one row as a JSON object, for statements that read a row together with those it belongs to. */
export const jsonOf = (columns: string): string =>
  `(select to_json(r) from (select ${columns.replace(times, timeText)}) r)`;
