import type { Context, Services } from "../kernel/context.js";
import { authorize } from "../authorization/authorization.js";
import { statement } from "../kernel/database.js";
import { encryptedColumns } from "./columns.js";
import { readRegisteredKeys } from "./keys.js";

/** How many rows of a table are encrypted with a key. */
export interface EncryptedRows {
  table: string;
  count: number;
}

/** A key that this server has or that something is encrypted with. */
export interface EncryptionKeyStatus {
  id: string;
  /** Whether this server has it. */
  present: boolean;
  rows: EncryptedRows[];
}

export interface EncryptionStatus {
  /** The key that writes; none where the command line finds no key. */
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

/** What is encrypted with which key: for those who administer the site. */
export function readEncryptionStatus(ctx: Context): Promise<EncryptionStatus> {
  authorize(ctx.actor, "system:read");
  return encryptionStatus(ctx.services);
}

/** What is encrypted with which key: for whoever runs the server. */
export async function encryptionStatus(services: Pick<Services, "database" | "vault">): Promise<EncryptionStatus> {
  const { database, vault } = services;
  const counts = Map.groupBy(await database.query(rowsByKey, []), ({ keyId }) => keyId);
  const registered = await readRegisteredKeys(services);
  const ids = new Set([...vault.keyIds, ...registered.map(({ id }) => id)]);
  const keys = [...ids].map((id) => ({ id, present: vault.has(id), rows: byTable(counts.get(id) ?? []) }));
  return { activeKeyId: vault.keyIds[0] ?? null, keys };
}

/** Every table with encrypted columns, in the order of the registry. */
function byTable(counts: EncryptedRows[]): EncryptedRows[] {
  const tables = [...new Set(encryptedColumns.map(({ table }) => table))];
  return tables.map((table) => ({
    table,
    count: counts.filter((each) => each.table === table).reduce((sum, { count }) => sum + count, 0),
  }));
}
