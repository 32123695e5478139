import type { Role } from "./known.js";

/** A request that is sent to both databases. */
export interface Case {
  /** The root field or the REST operation: `Query.groups`, `GET /api/v2/groups`. */
  operation: string;
  role: Role;
  what: string;
  /** Whether the request skips rows, which costs what reading them costs. */
  isDeep?: boolean;
  /** Whether several filters narrow the list. */
  isCombined?: boolean;
  /** Builds the bytes of the request. `ask` sends others to the database's server and returns the body of the response. */
  request(ask: (bytes: string) => Promise<string>): Promise<string>;
}

/** Sends a request to the small database. Resolves to what it has read; undefined if that is rejected or nothing. */
export type Read = (bytes: string) => Promise<string | undefined>;

/** A case that fails when it is measured: what is read has changed, and the tables of values have not. */
export const missing = (operation: string, what: string): Case => ({
  operation,
  role: "owner",
  what,
  request: () => Promise.reject(new Error("This is not measured yet: bench/growth/values.ts has no value for it.")),
});
