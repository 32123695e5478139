import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { chown, rename, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Account, canReach, chooseAccount, letAllPass, letPass } from "./account.js";
import { freePort } from "../../runtime/ports.js";
import { ClusterError, explain, useOwnDatabase } from "./errors.js";

/** Settings of a cluster, stored in `cluster.json`. */
export interface Settings {
  password: string;
  port: number;
  /** Directory of the data: the cluster's own directory, unless the account cannot access it. */
  home: string;
}

/** Omits `home` if it is the cluster's own directory, so that the directory can be moved. */
type StoredSettings = Omit<Settings, "home"> & Partial<Settings>;

/** Creates the directory if necessary and returns its real path, by which processes and locks are matched. */
export function openFolder(directory: string): string {
  try {
    // Parents of the data directory keep the default mode.
    mkdirSync(dirname(dirname(resolve(directory))), { recursive: true });
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return realpathSync(directory);
  } catch (error) {
    throw explain(error, `The data directory ${directory} cannot be used`);
  }
}

/** Reads the stored settings, or generates new ones. */
export async function readSettings(folder: string): Promise<Settings> {
  const path = join(folder, settingsFile);
  if (existsSync(path)) {
    const { password, port, home = folder }: StoredSettings = JSON.parse(readFileSync(path, "utf8"));
    return { password, port, home };
  }
  if (clusterVersions(folder).length > 0) {
    throw new ClusterError(`${path} is missing. It contains the password of the database in the same directory.`);
  }
  return { password: randomBytes(24).toString("base64url"), port: await freePort("127.0.0.1"), home: folder };
}

export async function writeSettings(folder: string, { home, ...settings }: Settings): Promise<void> {
  const path = join(folder, settingsFile);
  const stored: StoredSettings = home === folder ? settings : { ...settings, home };
  const contents = JSON.stringify(stored, undefined, 2);
  await writeFile(`${path}.new`, `${contents}\n`, { mode: 0o600 });
  // If root uses the directory of another user, that user keeps access.
  const { uid, gid } = await stat(folder);
  if (process.getuid?.() === 0) await chown(`${path}.new`, uid, gid);
  await rename(`${path}.new`, path);
}

/** Selects the account that runs Postgres, and a directory for the data that the account can access. */
export function settle(folder: string, known: string, major: string): { account?: Account; home: string } {
  const account = chooseAccount(join(known, major));
  if (!account) return { home: known };

  // Steward's own directories cannot be listed. The account can traverse them.
  if (canReach(account, dirname(dirname(folder)))) letAllPass(dirname(folder));
  letPass(account, folder);
  if (canReach(account, known)) return { account, home: known };
  if (existsSync(join(known, major))) {
    throw new ClusterError(
      `The user that runs Postgres can no longer access ${known}. Grant it search permission on all parent directories.`,
    );
  }

  const home = join(fallback, randomBytes(8).toString("hex"));
  try {
    mkdirSync(home, { recursive: true });
    for (const path of [fallback, home]) chmodSync(path, 0o711);
  } catch (cause) {
    throw new ClusterError(
      `The user that runs Postgres can access neither ${folder} nor ${home}. Choose another STEWARD_DATA_DIR.`,
      { cause },
    );
  }
  return { account, home };
}

/** Throws if the data has another major version, which Postgres cannot read. An empty database must not replace it. */
export function refuseOtherVersions(home: string, major: string): void {
  const others = clusterVersions(home).filter((version) => version !== major);
  if (others.length === 0 || existsSync(join(home, major))) return;
  throw new ClusterError(
    `${home} holds a database of Postgres ${others.join(", ")}, but this release contains Postgres ${major}. ` +
      `Dump it with the previous release and restore it with this one. ${useOwnDatabase}`,
  );
}

const clusterVersions = (home: string) => readdirSync(home).filter((name) => /^\d+$/.test(name));

const settingsFile = "cluster.json";

/** Directory of the data if the account that runs Postgres cannot access the data directory, such as below `/root`. */
const fallback = "/var/lib/steward";
