import { type InferResult, sql, type SqlBool } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import type { Context, Services } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { onViolation, unavailable } from "../kernel/errors.js";
import { StartRefused } from "../../runtime/errors.js";
import { isOpenToOthers } from "../../infrastructure/file-modes.js";
import { makeKeyFile, ownKeyFile, readKeyFile } from "../../infrastructure/key-file.js";
import type { EncryptionKey } from "../../infrastructure/vault.js";
import { encryptedColumns } from "./columns.js";

/** Whether a key `k` encrypts any value that cannot be regenerated. */
const isUsed = sql<boolean>`(${sql.join(
  encryptedColumns
    .filter(({ isReplaceable }) => !isReplaceable)
    .map(({ table, keyId }) => sql`exists (select from ${sql.table(table)} where ${sql.ref(keyId)} = k.id)`),
  sql` or `,
)})`;

/** The keys that are registered in the database, oldest first: a server has started with each of them. */
const registeredKeys = (db: Db) =>
  db
    .selectFrom("encryptionKeys as k")
    .select(["k.id", "k.checkValue", isUsed.as("isUsed")])
    .orderBy("k.createdAt")
    .orderBy("k.id");

export type RegisteredKey = InferResult<ReturnType<typeof registeredKeys>>[number];

/** Reads all registered keys, oldest first. */
export const readRegisteredKeys = ({ database }: Pick<Services, "database">): Promise<RegisteredKey[]> =>
  registeredKeys(database.db).execute();

/**
 * Unlocks the vault with the configured keys, or creates the first key. Throws `StartRefused` if the database contains
 * values that these keys cannot decrypt, or if only other keys are registered. The caller holds the boot lock.
 *
 * Only registered keys can encrypt, because rows reference them. A start deletes registered keys that are unused and
 * not configured; a running server that still has such a key can no longer write with it. Therefore no two servers
 * write with keys that the other one lacks.
 */
export async function unlockVault(ctx: Context): Promise<void> {
  const { vault } = ctx.services;
  const registered = await registeredKeys(ctx.db).execute();
  vault.unlock((await configuredKeys(ctx)) ?? (await firstKey(ctx, registered)));
  rejectWrongKeys(ctx.services, registered);
  const missing = registered.filter((key) => key.isUsed && !vault.has(key.id));
  if (missing.length > 0)
    throw new StartRefused(`The database holds values under encryption keys that are missing: ${listIds(missing)}.`);
  rejectClaimedDatabase(idsOf(registered), vault.keyIds, ctx.config.encryptionKeysFile);

  const known = new Set(idsOf(registered));
  const added = vault.keyIds.filter((id) => !known.has(id));
  if (added.length > 0)
    await ctx.db
      .insertInto("encryptionKeys")
      .values(added.map((id) => ({ id, checkValue: vault.checkValueOf(id), createdAt: now })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  await ctx.db
    .deleteFrom("encryptionKeys as k")
    .where(sql<SqlBool>`k.id <> all(${vault.keyIds}::text[]) and not ${isUsed}`)
    .execute();
}

/**
 * Reads the configured keys: those of the setting, else those in the key file if it exists. Throws `StartRefused` if
 * other users have access to the default file in the data directory; the modes of a configured file are not checked,
 * since platforms mount secrets with modes of their own.
 */
export async function configuredKeys({ config }: Pick<Services, "config">): Promise<EncryptionKey[] | undefined> {
  if (config.encryptionKeys) return config.encryptionKeys;
  const path = config.encryptionKeysFile;
  if (path === ownKeyFile(config.dataDir) && isOpenToOthers(path)) {
    throw new StartRefused(
      `Other users of this machine have access to the encryption keys in ${path}. Run: chmod 600 ${path}`,
    );
  }
  return readKeyFile(path);
}

async function firstKey({ config, log }: Context, registered: RegisteredKey[]): Promise<EncryptionKey[]> {
  const path = config.encryptionKeysFile;
  const used = registered.filter((key) => key.isUsed);
  if (used.length > 0) {
    const lost = `The file ${path} is missing, and the database holds values under encryption keys that were in it`;
    throw new StartRefused(`${lost}: ${listIds(used)}. Put it back, or set STEWARD_ENCRYPTION_KEYS.`);
  }
  rejectClaimedDatabase(idsOf(registered), [], path);
  const { keys, isNew } = await makeKeyFile(path);
  if (isNew) log.warn({ path }, "Created an encryption key. Back up this file: encrypted values are lost without it.");
  return keys;
}

/** Throws `StartRefused` if a key of the vault differs from the registered key of the same id. */
export function rejectWrongKeys({ vault }: Pick<Services, "vault">, registered: readonly RegisteredKey[]): void {
  const wrong = registered.filter(({ id, checkValue }) => vault.has(id) && !vault.passes(id, checkValue));
  if (wrong.length > 0)
    throw new StartRefused(`These encryption keys differ from the registered keys of the same ids: ${listIds(wrong)}.`);
}

const idsOf = (keys: readonly RegisteredKey[]) => keys.map(({ id }) => id);

const listIds = (keys: RegisteredKey[]) => idsOf(keys).join(", ");

/** Reports whether this server can decrypt all values and can encrypt new ones. */
export async function hasAllKeys(services: Pick<Services, "database" | "vault">): Promise<boolean> {
  const { vault } = services;
  const registered = await readRegisteredKeys(services);
  const canOpen = registered.every((key) => !key.isUsed || vault.has(key.id));
  return canOpen && registered.some(({ id }) => id === vault.activeKeyId);
}

const forgotten = () => unavailable("The encryption key of this server is no longer registered.");

/** Turns the foreign-key violation of a write with an unregistered key into UNAVAILABLE. */
export const refuseForgottenKey = onViolation(
  Object.fromEntries(encryptedColumns.map(({ table, keyId }) => [`${table}_${keyId}_foreign`, forgotten])),
);

/**
 * Throws `StartRefused` if the database has registered encryption keys and this server has none of them. Otherwise two
 * servers could write values that the other one cannot decrypt.
 *
 * @param claimed Ids of the registered keys of the database.
 * @param own Ids of the keys of this server.
 * @param path Path of this server's key file.
 */
function rejectClaimedDatabase(claimed: readonly string[], own: readonly string[], path: string): void {
  if (claimed.length === 0 || claimed.some((id) => own.includes(id))) return;
  const lack = own.length > 0 ? `This server has ${own.join(", ")} instead` : "This server has no key";
  throw new StartRefused(
    `Another server has claimed this database with the encryption key ${claimed.join(", ")}. ${lack}. ` +
      "All servers of a database share their keys: set STEWARD_ENCRYPTION_KEYS to the same value on all of them, " +
      `or copy the key file of the other server (encryption.keys in its data directory) to ${path}.`,
  );
}
