import { sql } from "kysely";
import type { Db } from "./database.js";

/** Advisory locks, for what no row represents. */
export type Lock =
  | "app_connect_keys"
  | "appearance"
  | "audit_numbers"
  | "boot"
  | "connections"
  | "daily_counts"
  | "failure_reports"
  | "invitations"
  | "licenses"
  | "months"
  | "owners"
  | "provider_sessions"
  | "proxy_health"
  | "scim_keys"
  | "second_factor_rules"
  | "sign_in_providers"
  | "statistics"
  | "suspensions"
  | "workspace_proxies";

/** SQL that computes the number of a lock. */
export const numberOf = (lock: Lock): string => `hashtext('steward.${lock}')`;

/** Takes a lock until the transaction ends, unless another one has it. Returns whether it was free. */
export async function takeFree({ db }: { db: Db }, lock: Lock): Promise<boolean> {
  const { rows } = await sql<{ isFree: boolean }>`
    select pg_try_advisory_xact_lock(${sql.raw(numberOf(lock))}) as "isFree"`.execute(db);
  return rows[0]!.isFree;
}

/** Waits for a lock, or for that of one object, and holds it until the transaction ends. */
export const takeTurn = ({ db }: { db: Db }, lock: Lock, id?: string): Promise<unknown> => {
  const ofObject = id === undefined ? sql`` : sql`, hashtext(${id})`;
  return sql`select pg_advisory_xact_lock(hashtext(${`steward.${lock}`})${ofObject})`.execute(db);
};
