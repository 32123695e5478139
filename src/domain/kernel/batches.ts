/** Returns the rows of each key, in their order: the result of a batch read for `ctx.load`. */
export function rowsByKey<Row, Key>(rows: readonly Row[], keys: readonly Key[], keyOf: (row: Row) => Key): Row[][] {
  const found = Map.groupBy(rows, keyOf);
  return keys.map((key) => found.get(key) ?? []);
}

/** Returns the row of each id, in their order: the result of a batch read for `ctx.load`. */
export function rowById<Row extends { id: string }>(
  rows: readonly Row[],
  ids: readonly string[],
): Array<Row | undefined> {
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
