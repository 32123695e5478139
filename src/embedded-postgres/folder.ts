import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { chown, rename, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { type Account, canReach, chooseAccount, letPass } from "./account.js";
import { ClusterError, explain, useOwnDatabase } from "./errors.js";

/** What is remembered of a cluster between runs, in `cluster.json`. */
export interface Settings {
  password: string;
  port: number;
  /** Where the data is; the cluster's own folder, unless the account cannot get there. */
  home: string;
}

/** The home is left out where it is the folder itself, so that the folder may be moved. */
type StoredSettings = Omit<Settings, "home"> & Partial<Settings>;

/** Creates the folder where needed. Its real path is what everything else is compared by. */
export function openFolder(directory: string): string {
  try {
    // What lies above the data directory is not ours to close.
    mkdirSync(dirname(dirname(resolve(directory))), { recursive: true });
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return realpathSync(directory);
  } catch (error) {
    throw explain(error, `The data directory ${directory} cannot be used`);
  }
}

/** The settings of earlier runs, or new ones. */
export async function readSettings(folder: string): Promise<Settings> {
  const path = join(folder, settingsFile);
  if (existsSync(path)) {
    const { password, port, home = folder }: StoredSettings = JSON.parse(readFileSync(path, "utf8"));
    return { password, port, home };
  }
  if (clusterVersions(folder).length > 0) {
    throw new ClusterError(`${path} is missing: without it nobody knows the password of the database beside it.`);
  }
  return { password: randomBytes(24).toString("base64url"), port: await freePort(), home: folder };
}

export async function writeSettings(folder: string, { home, ...settings }: Settings): Promise<void> {
  const path = join(folder, settingsFile);
  const stored: StoredSettings = home === folder ? settings : { ...settings, home };
  const contents = JSON.stringify(stored, undefined, 2);
  await writeFile(`${path}.new`, `${contents}\n`, { mode: 0o600 });
  // Where root serves the folder of another user, that user keeps access.
  const { uid, gid } = await stat(folder);
  if (process.getuid?.() === 0) await chown(`${path}.new`, uid, gid);
  await rename(`${path}.new`, path);
}

/** The account that Postgres runs as, and a home for the data which that account can reach. */
export function settle(folder: string, known: string, major: string): { account?: Account; home: string } {
  const account = chooseAccount(join(known, major));
  if (!account) return { home: known };

  // Our own folders are private; the account may pass through them, no further.
  if (canReach(account, dirname(dirname(folder)))) letPass(account, dirname(folder));
  letPass(account, folder);
  if (canReach(account, known)) return { account, home: known };
  if (existsSync(join(known, major))) {
    throw new ClusterError(
      `The user that runs Postgres for root can no longer reach ${known}. Let others pass through.`,
    );
  }

  const home = join(fallback, randomBytes(8).toString("hex"));
  try {
    mkdirSync(home, { recursive: true });
    for (const path of [fallback, home]) chmodSync(path, 0o711);
  } catch (cause) {
    throw new ClusterError(
      `The user that runs Postgres for root can neither reach ${folder} nor ${home}. Choose another STEWARD_DATA_DIR.`,
      { cause },
    );
  }
  return { account, home };
}

/** Refuses data of another major version: Postgres cannot read it, and an empty database in its place would be a shock. */
export function refuseOtherVersions(home: string, major: string): void {
  const others = clusterVersions(home).filter((version) => version !== major);
  if (others.length === 0 || existsSync(join(home, major))) return;
  throw new ClusterError(
    `${home} holds a database of Postgres ${others.join(", ")}, but this release brings Postgres ${major}. ` +
      `Dump it with the former release and restore it here. ${useOwnDatabase}`,
  );
}

/** A port of the loopback interface that nobody listens on. */
export async function freePort(wanted = 0): Promise<number> {
  const { promise, resolve: found, reject } = Promise.withResolvers<number>();
  const server = createServer().once("error", reject);
  server.listen(wanted, "127.0.0.1", () => {
    const address = server.address();
    server.close(() => found(typeof address === "object" && address ? address.port : wanted));
  });
  return promise;
}

const clusterVersions = (home: string) => readdirSync(home).filter((name) => /^\d+$/.test(name));

const settingsFile = "cluster.json";

/** Where the data goes when root's Postgres account cannot reach the data directory, for example below `/root`. */
const fallback = "/var/lib/steward";
