import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { onViolation, StartRefused, unavailable } from "../kernel/errors.js";
import { isOpenToOthers } from "../outside/file-modes.js";
import { makeKeyFile, ownKeyFile, readKeyFile } from "../outside/key-file.js";
import type { EncryptionKey } from "../outside/vault.js";
import { rejectClaimedDatabase } from "./claim.js";
import { encryptedColumns } from "./columns.js";

/** A key that is registered in the database: a server has started with it. */
export interface RegisteredKey {
  id: string;
  checkValue: Buffer;
  /** Whether it encrypts any value that cannot be regenerated. */
  isUsed: boolean;
}

const isUsed = encryptedColumns
  .filter(({ isReplaceable }) => !isReplaceable)
  .map(({ table, keyId }) => `exists (select from ${table} where ${keyId} = k.id)`)
  .join(" or ");

const registeredKeys = statement<RegisteredKey>(`
  select k.id, k.check_value as "checkValue", ${isUsed} as "isUsed" from encryption_keys k order by k.created_at, k.id`);

/** Reads all registered keys, oldest first. */
export const readRegisteredKeys = ({ database }: Pick<Services, "database">): Promise<RegisteredKey[]> =>
  database.query(registeredKeys, []);

const registerKeys = statement(`
  insert into encryption_keys (id, check_value, created_at)
  select id, check_value, now() from unnest($1::text[], $2::bytea[]) as given (id, check_value)
  on conflict do nothing`);

const forgetKeys = statement(`delete from encryption_keys k where id <> all($1) and not (${isUsed})`);

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
  const registered = await ctx.rows(registeredKeys);
  vault.unlock((await configuredKeys(ctx)) ?? (await firstKey(ctx, registered)));
  rejectWrongKeys(ctx.services, registered);
  const missing = registered.filter((key) => key.isUsed && !vault.has(key.id));
  if (missing.length > 0)
    throw new StartRefused(`The database holds values under encryption keys that are missing: ${named(missing)}.`);
  rejectClaimedDatabase(idsOf(registered), vault.keyIds, ctx.config.encryptionKeysFile);

  const known = new Set(idsOf(registered));
  const added = vault.keyIds.filter((id) => !known.has(id));
  await ctx.rows(
    registerKeys,
    added,
    added.map((id) => vault.checkValueOf(id)),
  );
  await ctx.rows(forgetKeys, vault.keyIds);
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
    throw new StartRefused(`${lost}: ${named(used)}. Put it back, or set STEWARD_ENCRYPTION_KEYS.`);
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
    throw new StartRefused(`These encryption keys differ from the registered keys of the same ids: ${named(wrong)}.`);
}

const idsOf = (keys: readonly RegisteredKey[]) => keys.map(({ id }) => id);

const named = (keys: RegisteredKey[]) => idsOf(keys).join(", ");

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
