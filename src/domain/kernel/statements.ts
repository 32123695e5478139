/** SQL with parameters `$1…`. `Row` is the type of its rows. */
export interface Statement<Row> {
  /** Prepared once per connection under this name. Statements without a name are planned for each use. */
  readonly name?: string;
  readonly text: string;
  /** Set by `lookup`. */
  readonly isLookup?: boolean;
  /** Never set: carries the type. */
  readonly row?: Row;
}

let statements = 0;

/** Declares a prepared statement, which stays prepared on each connection. To be called at module level. */
export function statement<Row = never>(text: string): Statement<Row> {
  return { name: `s${++statements}`, text };
}

/**
 * Declares a prepared statement that reads few rows by key. Lookups of the same turn of the event loop share a
 * connection: a lookup must be fast and must not wait for locks.
 */
export const lookup = <Row = never>(text: string): Statement<Row> => ({ ...statement<Row>(text), isLookup: true });

/**
 * Maximum number of composed statements that are prepared, about 50 kB each per connection. More are planned per use.
 */
const mostShapes = 250;

const shapes = new Map<string, Statement<unknown>>();

/** Returns the prepared statement for SQL composed of the conditions in use. */
export function shaped<Row>(text: string): Statement<Row> {
  const known = shapes.get(text);
  if (known) return known as Statement<Row>;
  if (shapes.size >= mostShapes) return { text };
  const prepared = statement<Row>(text);
  shapes.set(text, prepared);
  return prepared;
}
