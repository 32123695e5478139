import type { Context, Services } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { StartRefused, unavailable } from "../kernel/errors.js";
import { isOpenToOthers } from "../outside/file-modes.js";
import { makeKeyFile, ownKeyFile, readKeyFile } from "../outside/key-file.js";
import type { EncryptionKey } from "../outside/vault.js";
import { refuseClaimedDatabase } from "./claim.js";
import { encryptedColumns } from "./columns.js";

/** A key that some server has started with. */
export interface RegisteredKey {
  id: string;
  checkValue: Buffer;
  /** Whether any value is encrypted with it that would be lost without it. */
  isUsed: boolean;
}

const isUsed = encryptedColumns
  .filter(({ isReplaceable }) => !isReplaceable)
  .map(({ table, keyId }) => `exists (select from ${table} where ${keyId} = k.id)`)
  .join(" or ");

const registeredKeys = statement<RegisteredKey>(`
  select k.id, k.check_value as "checkValue", ${isUsed} as "isUsed" from encryption_keys k order by k.created_at, k.id`);

/** Every key that is registered, oldest first. */
export const readRegisteredKeys = ({ database }: Pick<Services, "database">): Promise<RegisteredKey[]> =>
  database.query(registeredKeys, []);

const registerKeys = statement(`
  insert into encryption_keys (id, check_value, created_at)
  select id, check_value, now() from unnest($1::text[], $2::bytea[]) as given (id, check_value)
  on conflict do nothing`);

const forgetKeys = statement(`delete from encryption_keys k where id <> all($1) and not (${isUsed})`);

/**
 * Gives the vault the keys that the settings name, or makes the first one. Throws `StartRefused` if the database holds
 * values that they do not open, or if it is claimed by keys of which none is given. The caller holds the boot lock.
 *
 * Only registered keys can encrypt: rows refer to them. A start forgets keys that nothing is encrypted with and that it
 * was not given; a server that still has such a key cannot write with it. So no two servers write with keys that the
 * other one lacks.
 */
export async function unlockVault(ctx: Context): Promise<void> {
  const { vault } = ctx.services;
  const registered = await ctx.rows(registeredKeys);
  vault.unlock((await configuredKeys(ctx)) ?? (await firstKey(ctx, registered)));
  refuseWrongKeys(ctx.services, registered);
  const missing = registered.filter((key) => key.isUsed && !vault.has(key.id));
  if (missing.length > 0)
    throw new StartRefused(`The database holds values under encryption keys that are missing: ${named(missing)}.`);
  refuseClaimedDatabase(idsOf(registered), vault.keyIds, ctx.config.encryptionKeysFile);

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
 * The keys that the settings name: themselves, or in a file that is there. The file in the data folder is the server's
 * own: nobody else may have access to it. One that the settings name may be mounted with the modes of the platform.
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
  refuseClaimedDatabase(idsOf(registered), [], path);
  const { keys, isNew } = await makeKeyFile(path);
  if (isNew) log.warn({ path }, "Made an encryption key. Back this file up: what it encrypts is lost without it.");
  return keys;
}

/** Throws `StartRefused` if a key of the vault is another one than its name stands for. */
export function refuseWrongKeys({ vault }: Pick<Services, "vault">, registered: readonly RegisteredKey[]): void {
  const wrong = registered.filter(({ id, checkValue }) => vault.has(id) && !vault.passes(id, checkValue));
  if (wrong.length > 0)
    throw new StartRefused(
      `These encryption keys are not those that the database knows by their ids: ${named(wrong)}.`,
    );
}

const idsOf = (keys: readonly RegisteredKey[]) => keys.map(({ id }) => id);

const named = (keys: RegisteredKey[]) => idsOf(keys).join(", ");

/** Whether this server can open all that is encrypted, and encrypt. */
export async function hasAllKeys(services: Pick<Services, "database" | "vault">): Promise<boolean> {
  const { vault } = services;
  const registered = await readRegisteredKeys(services);
  const canOpen = registered.every((key) => !key.isUsed || vault.has(key.id));
  return canOpen && registered.some(({ id }) => id === vault.activeKeyId);
}

/** Translates the failure of a write with a key that was forgotten. */
export function refuseForgottenKey(error: unknown): never {
  const { code, constraint } = error as { code?: string; constraint?: string };
  if (code !== "23503" || !constraint?.endsWith("key_id_foreign")) throw error;
  throw unavailable("The encryption key of this server is not in use any more.");
}
