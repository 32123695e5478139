// The user that runs the programs of workspaces.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type Account, ownName } from "../../agent/processes.js";
import { StartRefused } from "../../api/settings.js";

/** The user of workspaces if the daemon runs as root and the operator has not chosen one. */
export const usualAccount = "nobody";

/**
 * Selects the user that runs the programs of workspaces; undefined if it is the user of the daemon. Throws if the daemon
 * runs as root without permission, or cannot run programs as the user.
 */
export function chooseAccount(wanted: string, isRootAllowed: boolean): Account | undefined {
  const isRoot = process.getuid?.() === 0;
  const username = ownName();
  if (!isRoot) {
    if (wanted === "" || wanted === username) return undefined;
    throw new StartRefused(
      `STEWARD_PROVISIONER_USER is ${wanted}, but only root can run programs as another user. ` +
        `Start the daemon as ${wanted}, or as root with --allow-root.`,
    );
  }
  if (!isRootAllowed)
    throw new StartRefused(
      "The provisioner type process does not run as root. Start the daemon as another user. Or pass --allow-root: the " +
        `programs of workspaces then run as the user in STEWARD_PROVISIONER_USER (default: ${usualAccount}).`,
    );
  const account = accountOf(wanted || usualAccount);
  return account.uid === 0 ? undefined : account;
}

function accountOf(name: string): Account {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  // Some systems list the IDs of `nobody` as negative numbers.
  if (uid && gid) return { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  throw new StartRefused(`There is no user ${name} in /etc/passwd. Set STEWARD_PROVISIONER_USER to an existing user.`);
}

/** Throws unless the account can enter a directory. */
export function requireAccess({ name, uid, gid }: Account, directory: string): void {
  const { status } = spawnSync("/bin/sh", ["-c", 'cd -- "$0"', directory], { uid, gid, cwd: "/", env: {} });
  if (status === 0) return;
  throw new StartRefused(
    `The user ${name} cannot enter ${directory}. Set STEWARD_PROVISIONER_DIR to a directory whose parents it can enter.`,
  );
}

/** Returns lines for the start: as whom workspaces run, and what that means for the key. */
export function accountNotice(account: Account | undefined): string[] {
  if (account) return [`Workspaces run as the user ${account.name}.`];
  const username = ownName();
  return [
    `Workspaces run as the user of this daemon, ${username}. Their programs can read what`,
    `${username} can read, including the environment of this daemon with its key. For people you`,
    "do not trust, start the daemon as root with --allow-root and STEWARD_PROVISIONER_USER.",
  ];
}
