import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { findBinaries, prepareBinaries } from "./binaries.js";
import { ClusterError, explain, FolderInUse } from "./errors.js";
import { openFolder, readSettings, refuseOtherVersions, settle, writeSettings } from "./folder.js";
import { freePort, isFree } from "../../runtime/ports.js";
import { lockFolder } from "./lock.js";
import {
  changeOwner,
  ensureRunning,
  findRunning,
  type Installation,
  lastWords,
  stop,
  superuser,
} from "./postmaster.js";
import { isAlive } from "./processes.js";

export { ClusterError } from "./errors.js";

export interface ClusterOptions {
  /** Directory of the cluster: data, settings, and log. Its parent belongs to Steward, too. */
  directory: string;
  /** Whether to flush writes to disk. If false, a crash of the machine can corrupt the data. Default: true. */
  fsync?: boolean;
  log: Pick<Logger, "info" | "warn" | "error">;
}

/** A running Postgres, which is restarted when it dies. */
export interface Cluster {
  /** Connection URL of the superuser and the `postgres` database, including the password. */
  url: string;
  /** Stops Postgres and releases the directory. */
  stop(): Promise<void>;
}

/**
 * Starts the Postgres of a directory, or takes it over if a server that was killed left it running. Throws a
 * `ClusterError` if another server uses the directory or Postgres cannot run.
 */
export async function startCluster({ directory, fsync = true, log }: ClusterOptions): Promise<Cluster> {
  let unlock: (() => void) | undefined;
  try {
    const folder = openFolder(directory);
    unlock = lockFolder(folder);
    const installation = await install(folder, fsync);
    if (installation.home !== folder) {
      log.warn(
        { home: installation.home },
        "The user that runs Postgres cannot access the data directory; the database is in another directory",
      );
    }
    const { pid, isNew } = await ensureRunning(installation);
    log.info({ postmaster: pid, port: installation.port }, isNew ? "Postgres started" : "Postgres is already running");
    const end = keepRunning(installation, pid, log);
    let ended: Promise<void> | undefined;
    return {
      url: urlOf(installation),
      stop: () => (ended ??= end().finally(unlock)),
    };
  } catch (error) {
    unlock?.();
    throw error instanceof ClusterError ? error : explain(error, `The database in ${directory} cannot be used`);
  }
}

/** Like `startCluster`, but uses the Postgres of a running server if one uses the directory. For commands. */
export async function borrowCluster(options: ClusterOptions): Promise<Cluster> {
  try {
    return await startCluster(options);
  } catch (error) {
    if (!(error instanceof FolderInUse)) throw error;
    return { url: urlOf(await readSettings(openFolder(options.directory))), stop: async () => {} };
  }
}

const urlOf = ({ password, port }: Pick<Installation, "password" | "port">) =>
  `postgres://${superuser}:${password}@127.0.0.1:${port}/postgres`;

/** Prepares everything that the Postgres of the directory needs. */
async function install(folder: string, fsync: boolean): Promise<Installation> {
  const found = await findBinaries();
  const { password, ...known } = await readSettings(folder);
  const { account, home } = settle(folder, known.home, found.major);
  refuseOtherVersions(home, found.major);
  const installation = { binaries: found, home, account, port: known.port, password, fsync };
  await changeOwner(installation);
  installation.binaries = await prepareBinaries(found, home, account);
  if (findRunning(installation) === undefined) {
    if (!(await isFree(known.port, "127.0.0.1"))) installation.port = await freePort("127.0.0.1");
    await writeSettings(folder, { password, port: installation.port, home });
  }
  return installation;
}

/** Restarts Postgres when it dies. Returns a function that stops both. */
function keepRunning(installation: Installation, first: number, log: ClusterOptions["log"]): () => Promise<void> {
  const ending = new AbortController();
  const last = watch();
  return async () => {
    ending.abort();
    await stop(await last);
  };

  /** Never rejects: failed attempts are retried. Identical consecutive failures are logged once. */
  async function watch(): Promise<number> {
    let pid = first;
    let failure = "";
    while (await pause(ending.signal)) {
      if (isAlive(pid)) continue;
      try {
        if (!failure) log.error({ postgres: lastWords(installation) }, "Postgres died; restarting it");
        ({ pid } = await ensureRunning(installation, ending.signal, (launched) => (pid = launched)));
        log.info({ postmaster: pid }, "Postgres started");
        failure = "";
      } catch (error) {
        if (ending.signal.aborted) break;
        if (String(error) !== failure) log.error({ err: error }, "Postgres could not be started; retrying");
        failure = String(error);
      }
    }
    return pid;
  }
}

/** Waits until the next check of Postgres. Resolves to false when aborted. */
const pause = (signal: AbortSignal) => sleep(500, true, { signal, ref: false }).catch(() => false);
