// A restore is one transaction: it creates the schema of the backup's migration, loads the tables, and migrates them to
// the schema of this program.
import type { MikroORM } from "@mikro-orm/postgresql";
import type { PoolClient } from "pg";
import { migrations } from "../../entities/migrations/index.js";
import { migrationSql } from "../../infrastructure/database/migrations.js";
import { migrateWithin, progressOf } from "../../infrastructure/database/migrator.js";
import { beginAnotherLife } from "../audit/numbering.js";
import { onOwnSessions } from "../deployment/boot.js";
import { configuredKeys, readRegisteredKeys } from "../encryption/encryption-keys.js";
import type { Services } from "../kernel/context.js";
import type { Database } from "../../infrastructure/database/database.js";
import { numberOf } from "../../infrastructure/database/locks.js";
import { BackupFile, type BackupHeader, BackupRefused } from "../../infrastructure/backup-file.js";
import { makeKeyFile } from "../../infrastructure/key-file.js";
import { readKeys } from "../../infrastructure/vault.js";
import type { OnProgress } from "./backup.js";
import { interruptible } from "./connection.js";
import { type BackupContents, quoteNames, tableNames } from "./contents.js";
import { load, malformedBackup, nextValue, type Records, unbind } from "./loading.js";

export interface RestoreOptions {
  /** Whether to end all sessions, API tokens, and OAuth2 grants in the restored database. */
  mustRevokeTokens: boolean;
}

/** Progress of the steps: bytes of the file restored, then the number of indexes and foreign keys. */
export interface RestoreProgress {
  restored: OnProgress;
  indexed: OnProgress;
}

export interface RestoreSummary {
  tables: number;
  rows: number;
  /** The file that the encryption keys of the backup were written to. */
  keyFile?: string;
  /** Ids of encryption keys that values need and that are not configured. */
  missingKeys: string[];
}

type RestoreServices = Pick<Services, "config" | "database" | "log">;

/**
 * Opens a backup and checks all of it. Throws `BackupRefused` if it is not a complete backup, or is of a later version.
 * The caller closes it.
 */
export async function openBackup(path: string, onProgress: OnProgress): Promise<BackupFile> {
  const file = await BackupFile.open(path, onProgress);
  const { migration, version } = file.header;
  if (migrations.some(({ name }) => name === migration)) return file;
  await file.close();
  throw new BackupRefused(
    `The backup is of a later version: Steward ${version}, migration ${migration}. Restore it with that version, or a later one.`,
  );
}

/**
 * Restores a backup into an empty database, entirely or not at all. Throws `BackupRefused` if the database is in use, or
 * if the backup has encryption keys and others are configured.
 */
export async function restore(
  services: RestoreServices,
  file: BackupFile,
  { mustRevokeTokens: revokeTokens }: RestoreOptions,
  signal: AbortSignal,
  progress: RestoreProgress,
): Promise<RestoreSummary> {
  const { header } = file;
  const records = file.records(progress.restored);
  const restoring = (database: Database) =>
    inTransaction(database, signal, async (client, migrateTo) => {
      await rejectUsed(client, header, services.database.orm);
      const contents = await nextContents(records);
      const saveKeys = await keysOf(services, await nextValue(records));
      await migrateTo(header.migration);
      const rows = await loadAll(client, contents, records, progress.indexed);
      await migrateTo(latest);
      await client.query(beginAnotherLife);
      if (revokeTokens) await client.query(revokeAll);
      return { tables: contents.tables.length, rows, keyFile: await saveKeys?.() };
    });
  const loaded = await onOwnSessions(services, restoring);
  return { ...loaded, missingKeys: await missingKeys(services) };
}

const latest = migrations.at(-1)!.name;

/** Runs `work` in a transaction in which migrations run, too, and in which no server starts. */
async function inTransaction<Result>(
  { orm, pool }: Database,
  signal: AbortSignal,
  work: (client: PoolClient, migrateTo: (name: string) => Promise<unknown>) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    return await interruptible(client, signal, async () => {
      await client.query("begin");
      await client.query(`select pg_advisory_xact_lock(${numberOf("boot")})`);
      const result = await work(client, (name) => migrateWithin(client, migrationSql(orm), name));
      await client.query("commit");
      return result;
    });
  } finally {
    // A transaction that is not committed ends with the connection.
    client.release(true);
  }
}

/** Rejects a database that a server has used, and one whose tables are not those that the backup needs. */
async function rejectUsed(client: PoolClient, { migration }: BackupHeader, orm: MikroORM): Promise<void> {
  const names = tableNames(orm);
  const { rows: existing } = await client.query<{ name: string }>(
    `select name from unnest($1::text[]) as wanted (name) where to_regclass(quote_ident(name)) is not null`,
    [names],
  );
  if (existing.length === 0) return;
  const last = (await progressOf(client)).executed.at(-1);
  if (!last)
    throw new BackupRefused(`The database has a table "${existing[0]!.name}" that is not of Steward. ${useNew}`);
  const { rows: used } = await client.query("select from deployment");
  if (used.length > 0) throw new BackupRefused(`The database is not empty: a server has used it. ${useNew}`);
  if (last === migration) return;
  throw new BackupRefused(`The database is empty, but its schema is not that of the backup (${migration}). ${useNew}`);
}

const useNew = "Restore the backup into a new database or data directory.";

async function nextContents(records: Records): Promise<BackupContents> {
  const { tables, sequences } = await nextValue(records);
  if (!Array.isArray(tables) || !Array.isArray(sequences)) throw malformedBackup();
  return { tables, sequences };
}

/**
 * Compares the keys in the backup, if any, with the configured ones. Returns what writes them to the key file if no keys
 * are configured. Throws `BackupRefused` if other keys are.
 */
async function keysOf(
  { config }: RestoreServices,
  { keys: text }: Record<string, unknown>,
): Promise<(() => Promise<string>) | undefined> {
  if (typeof text !== "string") return undefined;
  const keys = readKeys(text);
  if (!keys) throw malformedBackup();
  const configured = await configuredKeys({ config });
  if (!configured)
    return async () => {
      await makeKeyFile(config.encryptionKeysFile, text);
      return config.encryptionKeysFile;
    };
  const others = keys.filter(({ id, key }) => !configured.some((own) => own.id === id && own.key.equals(key)));
  if (others.length === 0) return undefined;
  throw new BackupRefused(
    `The backup contains encryption keys that differ from the configured ones: ${others.map(({ id }) => id).join(", ")}. ` +
      `Remove STEWARD_ENCRYPTION_KEYS or the file ${config.encryptionKeysFile}, and restore again.`,
  );
}

/** Loads all tables and sets the sequences. Returns the number of rows. */
async function loadAll(
  client: PoolClient,
  { tables, sequences }: BackupContents,
  records: Records,
  onIndexed: OnProgress,
): Promise<number> {
  const names = tables.map(({ name }) => name);
  // Migrations insert rows, which the backup has, too.
  await client.query(`truncate ${quoteNames(names)}`);
  const bindAgain = await unbind(client, names);
  let rows = 0;
  for (const table of tables) {
    if ((await nextValue(records)).table !== table.name) throw malformedBackup();
    rows += await load(client, table, records);
  }
  if (!(await records.next()).done) throw malformedBackup();
  for (const { name, value } of sequences)
    await client.query("select setval(quote_ident($1)::regclass, $2::bigint)", [name, value]);
  await bindAgain(onIndexed);
  return rows;
}

const revokeAll = `
  delete from api_keys;
  delete from one_time_passcodes;
  update oauth2_grants set revoked_at = now(), expires_at = now(), revoke_reason = 'revoked'
  where revoked_at is null and expires_at > now();`;

async function missingKeys(services: RestoreServices): Promise<string[]> {
  const configured = (await configuredKeys(services)) ?? [];
  const registered = await readRegisteredKeys(services);
  return registered.filter((key) => key.isUsed && !configured.some(({ id }) => id === key.id)).map(({ id }) => id);
}
