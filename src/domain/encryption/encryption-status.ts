import { sql } from "kysely";
import type { Context, Services } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { mostCounted } from "../kernel/lists.js";
import { encryptedColumns } from "./columns.js";
import { readRegisteredKeys } from "./encryption-keys.js";

/** The number of values in a table that are encrypted with a key. */
export interface EncryptedRows {
  table: string;
  count: number;
}

/** A key that this server has or that is registered. */
export interface EncryptionKeyStatus {
  id: string;
  /** Whether this server has it. */
  present: boolean;
  rows: EncryptedRows[];
}

export interface EncryptionStatus {
  /** The key that encrypts; null if the command line finds no key. */
  activeKeyId: string | null;
  keys: EncryptionKeyStatus[];
}

/** Counts the values under each key, by column, up to a limit. */
const countValues = (limit: number) =>
  sql<EncryptedRows & { keyId: string }>`${sql.join(
    encryptedColumns.map(
      ({ table, keyId }) => sql`
        select ${sql.lit(table)} as "table", k.id as key_id, (
          select count(*) from (
            select from ${sql.table(table)} where ${sql.ref(keyId)} = k.id
            limit ${Number.isFinite(limit) ? limit : null}::bigint
          ) counted) as count
        from encryption_keys k`,
    ),
    sql` union all `,
  )}`;

/** Reads the number of rows per key and table, up to `mostCounted` unless `isExact`, for site administrators. */
export function readEncryptionStatus(ctx: Context, isExact: boolean): Promise<EncryptionStatus> {
  authorize(ctx.actor, "system:read");
  return encryptionStatus(ctx.services, isExact ? Infinity : mostCounted);
}

/** Reads the number of rows per key and table, up to `limit`. For operators: checks no permission. */
export async function encryptionStatus(
  services: Pick<Services, "database" | "vault">,
  limit = Infinity,
): Promise<EncryptionStatus> {
  const { database, vault } = services;
  const { rows: counted } = await countValues(limit).execute(database.db);
  const counts = Map.groupBy(counted, ({ keyId }) => keyId);
  const registered = await readRegisteredKeys(services);
  const ids = new Set([...vault.keyIds, ...registered.map(({ id }) => id)]);
  const keys = [...ids].map((id) => ({ id, present: vault.has(id), rows: byTable(counts.get(id) ?? [], limit) }));
  return { activeKeyId: vault.keyIds[0] ?? null, keys };
}

/** The counts of every table with encrypted columns, in the order of `encryptedColumns`. */
function byTable(counts: EncryptedRows[], limit: number): EncryptedRows[] {
  const tables = [...new Set(encryptedColumns.map(({ table }) => table))];
  return tables.map((table) => {
    const values = counts.filter((each) => each.table === table).reduce((sum, { count }) => sum + count, 0);
    return { table, count: Math.min(values, limit) };
  });
}
