import { execFile, spawnSync } from "node:child_process";
import { chownSync, chmodSync, readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { ClusterError, useOwnDatabase } from "./errors.js";

/** Permission bits of one class (owner, group, or others). */
const search = 0o1;
export const readAndExecute = 0o5;
/** The permission `search` of both classes. */
const groupAndOthers = 0o011;

/** The account that runs Postgres if Steward runs as root, since Postgres refuses to run as root. */
export interface Account {
  uid: number;
  gid: number;
}

/** The first of the IDs tried for the account. Linux distributions assign no user or service an ID of this range. */
const firstId = 60_900;
const attempts = 100;

/**
 * Selects the account that runs Postgres: the owner of existing data, otherwise an ID that no user has, so that no other
 * program can access the data. Data of `nobody`, which runs the programs of others too, needs another account. Returns
 * undefined if Steward does not run as root; Postgres then runs as the same user.
 */
export function chooseAccount(data: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = ownerOf(data);
  if (owner && owner.uid !== 0 && owner.uid !== systemAccount("nobody")?.uid) return owner;
  const id = Array.from({ length: attempts }, (_, at) => firstId + at).find(isFree);
  if (id !== undefined) return { uid: id, gid: id };
  throw new ClusterError(
    `Postgres refuses to run as root, and all IDs from ${firstId} to ${firstId + attempts - 1} have users. ` +
      useOwnDatabase,
  );
}

export function ownerOf(path: string): Account | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && { uid: stat.uid, gid: stat.gid };
}

/**
 * The account that creates the files of a database for `account`. The program that does so requires a user with a name.
 * Other processes of that user are not in the group of `account`.
 */
export function creatorFor({ gid }: Account): Account {
  const named = systemAccount("nobody") ?? systemAccount("daemon");
  if (named) return { uid: named.uid, gid };
  throw new ClusterError(`This system has no user "nobody", which creates the database. ${useOwnDatabase}`);
}

function systemAccount(name: string): Account | undefined {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n");
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
  // Some systems list the IDs of `nobody` as negative numbers.
  return uid && gid && uid !== "0" ? { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 } : undefined;
}

/** Whether neither a user, in a file or a directory service, nor a group has the ID. */
const isFree = (id: number) =>
  spawnSync("id", ["-u", String(id)], { stdio: "ignore" }).status !== 0 &&
  !readFileSync("/etc/group", "utf8").includes(`:${id}:`);

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

/** Permits all accounts, also those of workspaces in `data/provisioner`, to traverse Steward's directory. */
export function letAllPass(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & groupAndOthers) !== groupAndOthers) chmodSync(folder, (mode & 0o7777) | groupAndOthers);
}

// Commands instead of functions of Node, which follow links that a program of the files' owner makes meanwhile.

/** Gives the account files and all that is below them. */
export const giveTo = ({ uid, gid }: Account, ...paths: string[]): Promise<unknown> =>
  execute("chown", ["-R", "-h", "-P", `${uid}:${gid}`, "--", ...paths]);

/** Removes a file or directory, if it exists. */
export const removeTree = (path: string): Promise<unknown> => execute("rm", ["-rf", "--", path]);

const execute = promisify(execFile);

function allows({ uid, gid }: Account, path: string, wanted: number): boolean {
  const stat = statSync(path);
  const granted = stat.uid === uid ? stat.mode >> 6 : stat.gid === gid ? stat.mode >> 3 : stat.mode;
  return (granted & wanted) === wanted;
}
