import DataLoader from "dataloader";

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

/** Returns a function that reads the row of a key, if there is one, in one statement with the other keys of its turn. */
export function batchedReads<Row>(
  readAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
): (key: string) => Promise<Row | undefined> {
  const read = async (keys: readonly string[]) => {
    const rows = await readAll(keys);
    return keys.map((key) => rows.get(key));
  };
  const loader = new DataLoader<string, Row | undefined>(read, { cache: false, maxBatchSize: 100 });
  return (key) => loader.load(key);
}
