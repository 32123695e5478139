// Who else uses the user that runs the programs of workspaces. Programs can read and change what their user owns.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";
import { StartRefused } from "../../api/settings.js";
import { Folder } from "./folder.js";

/** The option that permits to share the user. */
export const allowSharedUser = "--allow-shared-user";

interface User {
  uid: number;
  name: string;
}

/** Throws, without the option, if the user owns the data of a server or runs the workspaces of another daemon. */
export async function requireOwnUser(
  user: User,
  { directory, dataDirectory }: { directory: string; dataDirectory: string },
  isShared: boolean,
): Promise<void> {
  const data = dataOwnedBy(user.uid, [dataDirectory, dirname(directory)]);
  const other = await claim(user.uid, directory);
  const faults = [
    ...(data === undefined ? [] : [`owns the data of a Steward server, ${data}`]),
    ...(other === undefined ? [] : [`runs the workspaces of another daemon, in ${other}`]),
  ];
  if (faults.length === 0 || isShared) return;
  throw new StartRefused(
    `The user ${user.name} ${faults.join(", and ")}. Programs of workspaces could read and change them. ` +
      "Choose a user that runs nothing else: start the daemon as that user, or as root with --allow-root and " +
      `STEWARD_PROVISIONER_USER. Or pass ${allowSharedUser} if you trust all who build workspaces, as on your own machine.`,
  );
}

/** Returns a path of a server's data that the user owns: in the given directories, or of a built-in Postgres that runs. */
function dataOwnedBy(uid: number, directories: readonly string[]): string | undefined {
  const clusters = [...directories.map((each) => join(each, "postgres")), ...runningClusters(uid)];
  const paths = [
    ...directories.map((each) => join(each, "encryption.keys")),
    ...clusters.flatMap((cluster) => [join(cluster, "cluster.json"), ...databasesIn(cluster)]),
  ];
  return paths.find((path) => ownerOf(path) === uid);
}

/** The owner of a path; undefined if it does not exist, or lies where this daemon may not go, as its owner could. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path).uid;
  } catch {
    return undefined;
  }
}

/** The data of the Postgres versions in the directory of a built-in Postgres. */
function databasesIn(cluster: string): string[] {
  try {
    return readdirSync(cluster)
      .filter((name) => /^\d+$/.test(name))
      .map((name) => join(cluster, name));
  } catch {
    return [];
  }
}

/** The directories of the built-in Postgres servers that a user runs, on Linux. */
function runningClusters(uid: number): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").flatMap((pid) => {
    try {
      if (!/^\d+$/.test(pid) || statSync(`/proc/${pid}`).uid !== uid) return [];
      const [program = "", option, data = ""] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const isBuiltIn =
        basename(program) === "postgres" && option === "-D" && existsSync(join(data, "../cluster.json"));
      return isBuiltIn ? [dirname(data)] : [];
    } catch {
      return []; // It has ended.
    }
  });
}

/**
 * Records that workspaces in the directory run as the user. Returns the directory of another daemon that has recorded it
 * before, and that still has workspaces or runs.
 */
async function claim(uid: number, directory: string): Promise<string | undefined> {
  try {
    const records = process.getuid!() === 0 ? "/var/lib/steward-provisioner" : join(homedir(), ".local/state/steward");
    await mkdir(records, { recursive: true });
    const record = join(records, `workspaces-of-${uid}`);
    const other = await readFile(record, "utf8").catch(() => undefined);
    if (other === directory) return undefined;
    if (other !== undefined && (await Folder.isInUse(other))) return other;
    const own = `${record}.${process.pid}`;
    await rm(own, { force: true });
    await writeFile(own, directory, { flag: "wx" });
    await rename(own, record);
  } catch {
    // Without a place for the record, as in a container with a read-only file system, daemons do not know of each other.
  }
  return undefined;
}
