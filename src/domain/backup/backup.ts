// A backup is a copy of all tables in one snapshot. It needs no more than SQL, so that it works with every Postgres, and
// can be restored in a later version of Postgres and of Steward.
import type { DatabaseError, PoolClient } from "pg";
import { to as copyTo } from "pg-copy-streams";
import { databaseTime } from "../../runtime/clock.js";
import { migrations } from "../../entities/migrations/index.js";
import { version } from "../../runtime/program-files.js";
import { onOwnSessions } from "../deployment/boot.js";
import { configuredKeys } from "../encryption/encryption-keys.js";
import type { Services } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { type BackupRecord, BackupRefused, writeBackup } from "../../infrastructure/backup-file.js";
import { type EncryptionKey, textOfKeys } from "../../infrastructure/vault.js";
import { closeNow, interruptible } from "./connection.js";
import { type BackupContents, copiedRows, quoteNames, readContents, tableNames } from "./contents.js";

export interface BackUp {
  /** The file to write, which must not exist. */
  path: string;
  /** Whether the file contains the encryption keys, too. */
  includesKeys: boolean;
}

/** Progress in bytes. */
export type OnProgress = (done: number, total: number) => void;

export interface BackupSummary {
  tables: number;
  rows: number;
  /** Size of the file in bytes. */
  size: number;
}

/**
 * Writes all tables to a file, in the state of one moment. Servers keep running: the only locks are those of reads, for
 * which migrations wait. Throws `BackupRefused` if the database does not have the schema of this program.
 */
export async function backUp(
  services: Pick<Services, "config" | "database" | "log">,
  { path, includesKeys }: BackUp,
  signal: AbortSignal,
  onProgress: OnProgress,
): Promise<BackupSummary> {
  const { config, database } = services;
  const keys = includesKeys ? await configuredKeys({ config }) : undefined;
  if (includesKeys && !keys) throw new BackupRefused("There are no encryption keys to include.");
  const names = tableNames(database.orm);
  return onOwnSessions(services, async ({ pool }) => {
    const client = await pool.connect();
    const work = interruptible(client, signal, async () => {
      const migration = await beginSnapshot(client, names);
      const contents = await readContents(client, names);
      const summary: BackupSummary = { tables: names.length, rows: 0, size: 0 };
      const header = { version, migration, createdAt: new Date(databaseTime()).toISOString(), hasKeys: includesKeys };
      const records = recordsOf(client, contents, keys, summary, onProgress);
      summary.size = await writeBackup(path, { header, records }, signal);
      return summary;
    });
    return work.finally(() => {
      closeNow(client);
      client.release(true);
    });
  });
}

/** Notes that a backup was made, for the health of the deployment. Its failure is only logged: the backup is there. */
export async function noteBackup({ database, log }: Pick<Services, "database" | "log">): Promise<void> {
  try {
    await database.db.updateTable("deployment").set({ backedUpAt: now }).execute();
  } catch (error) {
    log.warn({ err: error }, "The time of the backup could not be noted.");
  }
}

const latest = migrations.at(-1)!.name;

/**
 * Begins a transaction that sees one state of all tables, and returns the last migration. The locks come first: the
 * snapshot is that of the first query, and no migration can change a table after it.
 */
async function beginSnapshot(client: PoolClient, names: string[]): Promise<string> {
  try {
    await client.query("begin isolation level repeatable read, read only");
    // A backup without the rows that a policy hides would look complete: it fails instead.
    await client.query("set local lock_timeout = '1min'; set local row_security = off");
    await client.query(`lock table migrations, ${quoteNames(names)} in access share mode`);
    const { rows } = await client.query<{ name: string }>("select name from migrations order by id desc limit 1");
    if (rows[0]?.name === latest) return latest;
  } catch (error) {
    const { code } = error as DatabaseError;
    if (code === lockNotAvailable)
      throw new BackupRefused("A migration or a restore has locked the tables for a minute. Try again later.");
    if (code !== undefinedTable) throw error;
  }
  throw new BackupRefused(
    `The database does not have the schema of this version (migration ${latest}). Use the version that runs on it, or run "migrate" first.`,
  );
}

const lockNotAvailable = "55P03";
const undefinedTable = "42P01";

/** Reads the contents, the keys, and for each table its name, its rows as COPY formats them, and their number. */
async function* recordsOf(
  client: PoolClient,
  contents: BackupContents,
  keys: EncryptionKey[] | undefined,
  summary: BackupSummary,
  onProgress: OnProgress,
): AsyncIterable<BackupRecord> {
  yield contents;
  yield { keys: keys && textOfKeys(keys) };
  const total = contents.tables.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const table of contents.tables) {
    yield { table: table.name };
    const copy = client.query(copyTo(`copy ${copiedRows(table)} to stdout`));
    let read = 0;
    for await (const chunk of copy as AsyncIterable<Buffer>) {
      yield chunk;
      // Tables are smaller or larger than their rows as text.
      onProgress(done + Math.min(table.bytes, (read += chunk.length)), total);
    }
    // The number of rows arrives after them.
    await client.query("select");
    yield { rows: copy.rowCount };
    summary.rows += copy.rowCount;
    onProgress((done += table.bytes), total);
  }
}
