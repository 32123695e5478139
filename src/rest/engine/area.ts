/** What a row may say beyond its line. Never logic. */
export interface RowOptions {
  /** Request headers, in lower case, and the variables they fill. */
  headers?: Record<string, string>;
  /** The path that replaces this deprecated one, with the same parameters. */
  successor?: string;
  /** What the answer says of itself in `message`, before its other fields if it has any. */
  message?: string;
  /** The contract has an array where there is always one object. */
  oneElementArray?: boolean;
  /** The contract has an object where there is just this field of it. */
  under?: string;
  /** The contract shows no body for this row although it reads one: a request without it counts as `{}`. */
  bodyNotShown?: boolean;
  /** By field: what is sent where the contract requires a text that the caller may not read. */
  withheld?: Record<string, string>;
  /** The body is an address that the browser is sent on to. As for pages, the cookie counts wherever it comes from. */
  redirects?: boolean;
  /** For rows whose operation is a subscription. */
  stream?: StreamOptions;
}

/** How the events of a subscription travel. The object aliased `body` is the item. */
export interface StreamOptions {
  /** Members of the event union that only SSE sends, under these event names; their fields are the data. */
  events?: Record<string, string>;
  /** The field of an item that resumes after it: SSE's `id:`. Not part of the body. */
  id?: string;
  /** The variable that an event source's `Last-Event-ID` fills, before any other source, if it is a sequence number. */
  resume?: string;
}

/** One line of the contract: method, path (`:name` for parameters), stored operation, status of success. */
export type Row = readonly [
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  operation: string,
  status: number,
  options?: RowOptions,
];

/** The rows of one area; the operations are in the `.graphql` file of the same name. */
export interface Area {
  readonly name: string;
  readonly rows: readonly Row[];
}

export const area = (name: string, rows: readonly Row[]): Area => ({ name, rows });
