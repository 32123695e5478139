import type { Services } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { type EncryptedColumn, encryptedColumns, type SealedRow } from "./columns.js";
import { readRegisteredKeys, rejectWrongKeys } from "./encryption-keys.js";
import { encryptionStatus } from "./encryption-status.js";

/** The result of a rotation. */
export interface Rotation {
  activeKeyId: string;
  /** Values that were re-encrypted with the active key. */
  rotated: number;
  /** Rows still under another key: the key is missing, the value is corrupt, or an older server wrote it meanwhile. */
  left: number;
}

const batchSize = 500;
/** Rows that were locked in the first pass are retried in the second. */
const passes = 2;

/**
 * Re-encrypts every value with the active key, in batches of one transaction each. May run while servers are running,
 * and may be interrupted and restarted. For operators: checks no permission.
 */
export async function rotateEncryption(
  services: Services,
  onProgress: (rotated: number, total: number) => void,
): Promise<Rotation> {
  const { activeKeyId } = services.vault;
  const outdated = await outdatedKeys(services);
  const total = await countOutdated(services);
  let rotated = 0;
  for (let pass = 1; pass <= passes; pass++) {
    for (const column of encryptedColumns) {
      for (const keyId of outdated) {
        for await (const batch of batches(services, column, keyId)) {
          rotated += await reseal(services, column, keyId, batch);
          onProgress(rotated, total);
        }
      }
    }
  }
  return { activeKeyId, rotated, left: await countOutdated(services) };
}

/** The ids of the keys to replace. Throws CONFLICT if the active key is not registered. */
async function outdatedKeys(services: Services): Promise<string[]> {
  const { vault } = services;
  const registered = await readRegisteredKeys(services);
  rejectWrongKeys(services, registered);
  if (!registered.some(({ id }) => id === vault.activeKeyId))
    throw conflict(`No server has started with the key ${vault.activeKeyId} yet. Give it to all of them first.`);
  return registered.map(({ id }) => id).filter((id) => id !== vault.activeKeyId && vault.has(id));
}

async function countOutdated(services: Services): Promise<number> {
  const { activeKeyId, keys } = await encryptionStatus(services);
  const rows = keys.filter(({ id }) => id !== activeKeyId).flatMap((key) => key.rows);
  return rows.reduce((sum, { count }) => sum + count, 0);
}

const lowestId = "00000000-0000-0000-0000-000000000000";

async function* batches({ database }: Services, column: EncryptedColumn, keyId: string): AsyncGenerator<SealedRow[]> {
  for (let after = lowestId; ;) {
    const { rows: batch } = await column.page(keyId, after, batchSize).execute(database.db);
    if (batch.length === 0) return;
    yield batch;
    after = batch.at(-1)!.id;
  }
}

/** Re-encrypts a batch. Returns the number of values replaced. */
async function reseal(services: Services, column: EncryptedColumn, keyId: string, rows: SealedRow[]): Promise<number> {
  const fresh = rows.flatMap((row) => sealAgain(services, column, row) ?? []);
  const { rows: replaced } = await column.replace(keyId, fresh).execute(services.database.db);
  return replaced.length;
}

/** The value of a row under the active key. Logs a value that cannot be decrypted and returns `undefined`. */
function sealAgain({ vault, log }: Services, column: EncryptedColumn, row: SealedRow) {
  const place = column.place(row);
  try {
    return { id: row.id, read: row.ciphertext, ...vault.seal(place, vault.open(place, row)) };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    log.warn({ table: column.table, id: row.id }, "A value cannot be decrypted and was not re-encrypted.");
    return undefined;
  }
}
