import { memoize } from "../../graphql/engine/memoized.js";
import { apiDialect, type Dialect } from "./dialects.js";
import type { Json, NamedSchema } from "./openapi/schemas.js";

/** Options of a row. Never logic. */
export interface RowOptions {
  /** Request headers, in lower case, and the variables they fill. */
  headers?: Record<string, string>;
  /** Response headers, and the aliases outside of the body whose values they have. */
  sends?: Record<string, string>;
  /** The path that replaces this deprecated one, with the same parameters. */
  successor?: string;
  /** A constant text that is the first field of the response body, `message`. */
  message?: string;
  /** A field of the body that must be present; null and "" clear the value. */
  clearable?: string;
  /** The body is an array of one object. */
  oneElementArray?: boolean;
  /** The body is an object with this field, which holds the body of the operation. */
  under?: string;
  /** A request without a body is read as `{}`: the contract shows no body for this row, although it reads one. */
  isBodyHidden?: boolean;
  /** By field: the text that is sent for a required field that has no value, or that the caller may not read. */
  withheld?: Record<string, string>;
  /** Fields with an id that may be missing, spelled as `{uuid, valid}`: without an id the zero UUID and false. */
  nullableIds?: readonly string[];
  /** Lists that are left out where they are null; all others are sent empty. */
  sparse?: readonly string[];
  /** The variable that takes the whole body; others come from the query. The operation spells its faults. */
  document?: string;
  /** For rows whose operation is a subscription. */
  stream?: StreamOptions;
  /** For the API description: the schema of the document that the body is. */
  takes?: Json;
  /**
   * For the API description: the schemas of the successful responses by status, where the operation returns documents.
   */
  returns?: Readonly<Record<number, NamedSchema>>;
  /** For the API description: a body that is accepted, for rows that read one. */
  example?: Record<string, unknown>;
  /** For the API description: when the row responds with statuses that do not follow from its form, such as 409. */
  failures?: Record<number, string>;
}

/** How the events of a subscription are encoded. */
export interface StreamOptions {
  /** By type: the event name of members of the event union that are sent over SSE only. */
  events?: Record<string, string>;
  /** The field that is sent as SSE's `id:`, not as a part of the item. */
  id?: string;
  /** The variable that `Last-Event-ID` fills if it is a sequence number. It overrides any other source. */
  resume?: string;
  /** Whether the sequence numbers of ids are followed by a hyphen and the UUID of the event. */
  isIdOfEvent?: true;
}

/**
 * One line of the contract: method, path (`:name` for parameters), stored operation, status of success. A status of 3xx
 * redirects to the URL that is the body; 204 takes the place of any other status if the body is null.
 */
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
  /** The subject of the rows, for the API description. */
  readonly description: string;
  readonly rows: readonly Row[];
  readonly dialect: Dialect;
  /** The rows are pages: their operations are among those of the pages, and all parameters are in the query. */
  readonly pages?: true;
}

export const area = (
  name: string,
  description: string,
  rows: readonly Row[],
  dialect = apiDialect,
  { pages }: Pick<Area, "pages"> = {},
): Area => ({ name, description, rows, dialect, pages });

/** A row by its parts. */
export interface Route {
  readonly method: Row[0];
  readonly path: string;
  readonly operation: string;
  readonly status: number;
  readonly options: RowOptions;
  readonly dialect: Dialect;
  readonly isPage: boolean;
}

export const routesOf = memoize(({ rows, dialect, pages }: Area): readonly Route[] =>
  rows.map(([method, path, operation, status, options = {}]) => ({
    method,
    path,
    operation,
    status,
    options,
    dialect,
    isPage: pages ?? false,
  })),
);

/** Whether a row responds with a redirect to the URL that is its body. Callers are authenticated as on pages. */
export const redirects = ({ status, isPage }: Route): boolean => status >= 300 && status < 400 && !isPage;
