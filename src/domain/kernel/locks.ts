import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";

/** Advisory locks, for what no row represents. */
export type Lock =
  | "app_connect_keys"
  | "boot"
  | "failure_reports"
  | "licenses"
  | "owners"
  | "proxy_health"
  | "scim_keys"
  | "workspace_proxies";

/** SQL that computes the number of a lock. */
export const numberOf = (lock: Lock): string => `hashtext('steward.${lock}')`;

/** Waits for a lock and holds it until the transaction of the mutation ends. */
export const takeTurn = ({ db }: { db: Db }, lock: Lock): Promise<unknown> =>
  sql`select pg_advisory_xact_lock(hashtext(${`steward.${lock}`}))`.execute(db);
