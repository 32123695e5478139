import type { Quota } from "../rate-limits/window.js";

/** The metadata of a request. */
export interface RequestDetails {
  id: string;
  ip?: string;
  userAgent?: string;
  /** The rate limits that have counted the request. */
  quotas?: Quota[];
  /**
   * `commits` from the start of the commit, after which the request must not time out; `given up` after the 503 of a
   * timeout, after which it must not commit.
   */
  fate?: "commits" | "given up";
}
