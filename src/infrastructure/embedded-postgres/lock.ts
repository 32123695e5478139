import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, FolderInUse } from "./errors.js";
import { inspect } from "./processes.js";

/**
 * Locks the directory for this process, and returns a function that releases the lock. Throws `FolderInUse` if another
 * process holds it. Each process has its own lock file, so stale files can be removed without a race: a process that has
 * ended never returns. Two processes that start simultaneously see each other, and at worst both fail.
 */
export function lockFolder(folder: string): () => void {
  const own = join(folder, `server-${process.pid}.lock`);
  if (claimant(own) === process.pid) throw alreadyUsed(folder, process.pid);
  writeFileSync(`${own}.new`, JSON.stringify({ pid: process.pid, started: inspect(process.pid)?.started }));
  renameSync(`${own}.new`, own);
  const release = () => rmSync(own, { force: true });

  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (!name.endsWith(".lock") || path === own) continue;
    const other = claimant(path);
    if (other !== undefined) {
      release();
      throw alreadyUsed(folder, other);
    }
    rmSync(path, { force: true });
  }
  return release;
}

/** Returns the ID of the process that holds a lock file, if it is still running. */
function claimant(path: string): number | undefined {
  try {
    const { pid, started }: { pid: number; started: string } = JSON.parse(readFileSync(path, "utf8"));
    return inspect(pid)?.started === started ? pid : undefined;
  } catch (error) {
    const neverFinished = error instanceof SyntaxError;
    if (neverFinished || codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const alreadyUsed = (folder: string, pid: number) =>
  new FolderInUse(
    `Another Steward server (process ${pid}) uses the data in ${folder}. ` +
      "Stop it first, set a different STEWARD_DATA_DIR, or set the same STEWARD_DATABASE_URL for both.",
  );
