import type { Services } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { SealBroken } from "../outside/vault.js";
import { type EncryptedColumn, encryptedColumns, type SealedRow } from "./columns.js";
import { readRegisteredKeys, refuseWrongKeys } from "./keys.js";
import { encryptionStatus } from "./status.js";

/** What a rotation did. */
export interface Rotation {
  activeKeyId: string;
  /** Values that are encrypted with the active key now and were not before. */
  rotated: number;
  /** Rows that are still under another key: of a missing key, broken, or written meanwhile by an older server. */
  left: number;
}

const batchSize = 500;
/** Values that somebody is just writing are left out: they get a second chance. */
const passes = 2;

/**
 * Encrypts every value with the active key, in batches that are a transaction each: it may run beside the service, be
 * killed and be started again. For whoever runs the server.
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

/** The keys that can be rotated away from. Refuses to write with a key that no server would know. */
async function outdatedKeys(services: Services): Promise<string[]> {
  const { vault } = services;
  const registered = await readRegisteredKeys(services);
  refuseWrongKeys(services, registered);
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
    const batch = await database.query(column.page, [keyId, after, batchSize]);
    if (batch.length === 0) return;
    yield batch;
    after = batch.at(-1)!.id;
  }
}

/** Encrypts a batch anew, and says how many of its values it replaced. */
async function reseal(services: Services, column: EncryptedColumn, keyId: string, rows: SealedRow[]): Promise<number> {
  const fresh = rows.flatMap((row) => resealed(services, column, row) ?? []);
  const { length } = await services.database.query(column.replace, [
    keyId,
    fresh.map(({ id }) => id),
    fresh.map(({ read }) => read),
    fresh.map((row) => row.keyId),
    fresh.map(({ nonce }) => nonce),
    fresh.map(({ ciphertext }) => ciphertext),
  ]);
  return length;
}

/** The value of a row under the active key; nothing where it does not open, which is logged and stays as it is. */
function resealed({ vault, log }: Services, column: EncryptedColumn, row: SealedRow) {
  const place = column.place(row);
  try {
    return { id: row.id, read: row.ciphertext, ...vault.seal(place, vault.open(place, row)) };
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    log.warn({ table: column.table, id: row.id }, "A value does not open and was not encrypted anew.");
    return undefined;
  }
}
