import { type Statement, statement } from "./database.js";

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

const takeLock = statement("select pg_advisory_xact_lock(hashtext('steward.' || $1))");

interface Caller {
  rows(prepared: Statement<unknown>, ...values: unknown[]): Promise<unknown>;
}

/** Waits for a lock and holds it until the transaction of the mutation ends. */
export const takeTurn = (ctx: Caller, lock: Lock): Promise<unknown> => ctx.rows(takeLock, lock);
