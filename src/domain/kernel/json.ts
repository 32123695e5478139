/** SQL that formats a time as RFC 3339, as rows have it. */
export const timeText = (column: string): string => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Matches columns of times: an alias and a name that ends in `_at`. */
const times = /\b\w+\.\w+_at\b/g;

/** SQL that reads columns of a row as a JSON object. */
export const jsonOf = (columns: string): string =>
  `(select to_json(r) from (select ${columns.replace(times, timeText)}) r)`;
