import type { Quota } from "../rate-limits/window.js";

/** What is known of a request besides who sent it. */
export interface RequestFacts {
  id: string;
  ip?: string;
  userAgent?: string;
  /** The limits that it counted under so far. */
  quotas?: Quota[];
  /**
   * Which came first, the commit or the end of the server's patience: a request that is given up has had its 503 and
   * must not commit any more; one that commits must not be given up.
   */
  fate?: "commits" | "given up";
}
