import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { findBinaries, prepareBinaries } from "./binaries.js";
import { ClusterError, explain, FolderInUse } from "./errors.js";
import { freePort, openFolder, readSettings, refuseOtherVersions, settle, writeSettings } from "./folder.js";
import { lockFolder } from "./lock.js";
import { ensureRunning, findRunning, type Installation, lastWords, stop, superuser } from "./postmaster.js";
import { isAlive } from "./processes.js";

export { ClusterError } from "./errors.js";

export interface ClusterOptions {
  /** The folder of the cluster: data, settings, log. Its parent counts as Steward's own, too. */
  directory: string;
  /** False makes it faster, but a crash of the machine may destroy the data. */
  fsync?: boolean;
  log: Pick<Logger, "info" | "warn" | "error">;
}

/** A Postgres beside this process, started again whenever it dies. */
export interface Cluster {
  /** Of its superuser and its `postgres` database. Holds the password. */
  url: string;
  /** Ends Postgres and gives the folder up. */
  stop(): Promise<void>;
}

/**
 * Starts the Postgres of the folder, or takes it over if a server that was killed left it running.
 * Throws a ClusterError, made to be read, if another server uses the folder or Postgres cannot run.
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
        "Root's Postgres user cannot reach the data directory; the database is elsewhere",
      );
    }
    const { pid, isNew } = await ensureRunning(installation);
    log.info({ postmaster: pid, port: installation.port }, isNew ? "Postgres started" : "Postgres runs already");
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

/** The same for short work beside a server: uses the Postgres of the server that has the folder, if there is one. */
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

/** Finds or makes all that it takes to run the folder's Postgres. */
async function install(folder: string, fsync: boolean): Promise<Installation> {
  const found = await findBinaries();
  const { password, ...known } = await readSettings(folder);
  const { account, home } = settle(folder, known.home, found.major);
  refuseOtherVersions(home, found.major);
  const binaries = await prepareBinaries(found, home, account);

  const installation = { binaries, home, account, port: known.port, password, fsync };
  if (findRunning(installation) === undefined) {
    installation.port = await freePort(known.port).catch(() => freePort());
    await writeSettings(folder, { password, port: installation.port, home });
  }
  return installation;
}

/** Starts Postgres again whenever it has died. Returns how to end both. */
function keepRunning(installation: Installation, first: number, log: ClusterOptions["log"]): () => Promise<void> {
  const ending = new AbortController();
  const last = watch();
  return async () => {
    ending.abort();
    await stop(await last);
  };

  /** Survives every fault of its own: what fails is tried again. The same failure is logged once in a row. */
  async function watch(): Promise<number> {
    let pid = first;
    let failure = "";
    while (await pause(ending.signal)) {
      if (isAlive(pid)) continue;
      try {
        if (!failure) log.error({ postgres: lastWords(installation) }, "Postgres has died and is started again");
        ({ pid } = await ensureRunning(installation));
        log.info({ postmaster: pid }, "Postgres started");
        failure = "";
      } catch (error) {
        if (String(error) !== failure)
          log.error({ err: error }, "Postgres could not be started; the next attempt follows");
        failure = String(error);
      }
    }
    return pid;
  }
}

/** Waits between two looks at Postgres; false when there is to be none. */
const pause = (signal: AbortSignal) => sleep(500, true, { signal, ref: false }).catch(() => false);
