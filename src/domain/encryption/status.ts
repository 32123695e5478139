import type { Context, Services } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { encryptedColumns } from "./columns.js";
import { readRegisteredKeys } from "./keys.js";

/** The number of rows of a table that are encrypted with a key. */
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

const rowsByKey = statement<EncryptedRows & { keyId: string }>(
  encryptedColumns
    .map(
      ({ table, keyId }) =>
        `select '${table}' as table, ${keyId} as "keyId", count(*) as count from ${table}
         where ${keyId} is not null group by ${keyId}`,
    )
    .join(" union all "),
);

/** Reads the number of rows per key and table, for site administrators. */
export function readEncryptionStatus(ctx: Context): Promise<EncryptionStatus> {
  authorize(ctx.actor, "system:read");
  return encryptionStatus(ctx.services);
}

/** Reads the number of rows per key and table. For operators: checks no permission. */
export async function encryptionStatus(services: Pick<Services, "database" | "vault">): Promise<EncryptionStatus> {
  const { database, vault } = services;
  const counts = Map.groupBy(await database.query(rowsByKey, []), ({ keyId }) => keyId);
  const registered = await readRegisteredKeys(services);
  const ids = new Set([...vault.keyIds, ...registered.map(({ id }) => id)]);
  const keys = [...ids].map((id) => ({ id, present: vault.has(id), rows: byTable(counts.get(id) ?? []) }));
  return { activeKeyId: vault.keyIds[0] ?? null, keys };
}

/** The counts of every table with encrypted columns, in the order of `encryptedColumns`. */
function byTable(counts: EncryptedRows[]): EncryptedRows[] {
  const tables = [...new Set(encryptedColumns.map(({ table }) => table))];
  return tables.map((table) => ({
    table,
    count: counts.filter((each) => each.table === table).reduce((sum, { count }) => sum + count, 0),
  }));
}
