import { chownSync, chmodSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { ClusterError, useOwnDatabase } from "./errors.js";

/** Permission bits of one class (owner, group, or others). */
const search = 0o1;
export const readAndExecute = 0o5;

/** The system account that runs Postgres if Steward runs as root, since Postgres refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/**
 * Selects the account that runs Postgres: the owner of existing data, otherwise `postgres` or `nobody`. Returns undefined
 * if Steward does not run as root; Postgres then runs as the same user.
 */
export function chooseAccount(data: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(data, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };

  const accounts = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"));
  for (const wanted of ["postgres", "nobody"]) {
    const [, , uid, gid] = accounts.find(([name]) => name === wanted) ?? [];
    // Some systems list the IDs of `nobody` as negative numbers.
    if (uid && gid && uid !== "0") return { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  }
  throw new ClusterError(
    `Postgres refuses to run as root, and this system has no user "postgres" or "nobody". ${useOwnDatabase}`,
  );
}

/** Whether the account can traverse all parent directories of `path` and has the `wanted` permission bits on it. */
export function canReach(account: Account, path: string, wanted = search): boolean {
  const above = dirname(path);
  return allows(account, path, wanted) && (above === path || canReach(account, above));
}

/** Permits the account to traverse one of Steward's directories, and nothing else. */
export function letPass(account: Account, folder: string): void {
  if (allows(account, folder, search)) return;
  chownSync(folder, statSync(folder).uid, account.gid);
  chmodSync(folder, 0o710);
}

function allows({ uid, gid }: Account, path: string, wanted: number): boolean {
  const stat = statSync(path);
  const granted = stat.uid === uid ? stat.mode >> 6 : stat.gid === gid ? stat.mode >> 3 : stat.mode;
  return (granted & wanted) === wanted;
}
