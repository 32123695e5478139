/** Returns the rows of each key, in their order: the result of a batch read for `ctx.load`. */
export function rowsByKey<Row, Key>(rows: readonly Row[], keys: readonly Key[], keyOf: (row: Row) => Key): Row[][] {
  const found = Map.groupBy(rows, keyOf);
  return keys.map((key) => found.get(key) ?? []);
}
