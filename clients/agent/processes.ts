// Processes by their groups. A group is identified by its leader: the ID, and the time of the leader's start, which
// distinguishes it from a later process with the same ID.
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { delay } from "../api/delay.js";

export interface Leader {
  pid: number;
  started: string;
}

/** The user that runs a process, if not the user of this program. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** The name of the user that runs this program; the ID of a user without a name, as in containers. */
export function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.());
  }
}

interface Process extends Leader {
  group: number;
}

const isLinux = process.platform === "linux";
const isWindows = process.platform === "win32";

/** Lists all processes but zombies. */
function processes(): Process[] {
  if (!isLinux) return processesByPs();
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => processOf(Number(pid)) ?? []);
}

/** Reads a process; undefined if it has ended. Zombies have ended, unless they are to be included. */
function processOf(pid: number, includeZombies = false): Process | undefined {
  if (!isLinux) return processesByPs().find((each) => each.pid === pid);
  try {
    // The name in parentheses may contain any character. After it come the state, the parent, and the group; the start
    // is field 20 (proc_pid_stat(5)). It counts from the boot, whose ID is added.
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "X" || (fields[0] === "Z" && !includeZombies)) return undefined;
    return { pid, group: Number(fields[2]), started: `${bootId()} ${fields[19]}` };
  } catch {
    return undefined;
  }
}

let boot: string | undefined;
const bootId = (): string => (boot ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim());

function processesByPs(): Process[] {
  if (isWindows) return [];
  const env = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };
  const table = execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat=,lstart="], { encoding: "utf8", env });
  return table.split("\n").flatMap((line) => {
    const [, pid, group, state, started] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.+?)\s*$/.exec(line) ?? [];
    if (!started || state!.startsWith("Z")) return [];
    return { pid: Number(pid), group: Number(group), started };
  });
}

/** Whether the process itself is running. */
export const isAlive = ({ pid, started }: Leader): boolean => processOf(pid)?.started === started;

/** Returns the leader of a group that has just been started, and may have ended. */
const leaderOf = (pid: number): Leader => ({ pid, started: processOf(pid, true)?.started ?? "" });

/** Identifies this process. */
export const self = (): Leader => leaderOf(process.pid);

/** A mark in the environment of all processes of a workspace. */
export const markOf = (workspaceId: string): string => `STEWARD_WORKSPACE_ID=${workspaceId}`;

/**
 * Lists the processes of a group. If its leader ended some time ago, the ID may by now belong to a group of others: with a
 * mark, on Linux, members must have it in their environment.
 */
function membersOf(leader: Leader, mark: string | undefined, all: readonly Process[]): number[] {
  const members = all.filter(({ group }) => group === leader.pid);
  const first = members.find(({ pid }) => pid === leader.pid);
  if (first) return first.started === leader.started ? members.map(({ pid }) => pid) : [];
  return members.map(({ pid }) => pid).filter((pid) => mark === undefined || !isLinux || hasMark(pid, mark));
}

function hasMark(pid: number, mark: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, "utf8")}`.includes(`\0${mark}\0`);
  } catch {
    return false;
  }
}

/** Whether any process of the group is running. */
export const isRunning = (leader: Leader, mark: string): boolean => membersOf(leader, mark, processes()).length > 0;

/** Processes that do not end even after SIGKILL. */
export class Unkillable extends Error {}

/** Milliseconds for the kernel to end killed processes. */
const killTimeout = 10_000;
const pollInterval = 50;

/**
 * Ends all processes of the groups: SIGTERM, and SIGKILL after `grace` milliseconds. The mark is required unless the
 * leaders have been running until now. Throws `Unkillable`.
 */
export async function endGroups(leaders: readonly Leader[], mark: string | undefined, grace: number): Promise<void> {
  const remaining = () => {
    const all = leaders.length === 0 ? [] : processes();
    return leaders.filter((leader) => membersOf(leader, mark, all).length > 0);
  };
  const wait = async (milliseconds: number, signal: NodeJS.Signals) => {
    for (const leader of isWindows ? leaders : remaining()) signalGroup(leader, signal);
    for (const deadline = Date.now() + milliseconds; Date.now() < deadline; await delay(pollInterval))
      if (remaining().length === 0) return true;
    return false;
  };
  if ((await wait(grace, "SIGTERM")) || (await wait(killTimeout, "SIGKILL"))) return;
  const pids = remaining().map(({ pid }) => pid);
  throw new Unkillable(`Processes of these groups did not end after SIGKILL: ${pids.join(", ")}.`);
}

function signalGroup({ pid }: Leader, signal: NodeJS.Signals): void {
  try {
    if (isWindows) execFileSync("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore" });
    else process.kill(-pid, signal);
  } catch (error) {
    if (!isWindows && (error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Limits of processes together, such as those of a cgroup. */
export interface EnforcedLimits {
  /** Puts a process under the limits, and those that it starts later. Throws if that is not possible. */
  enter(pid: number): void;
  /** Number of processes that were ended because the limit of memory was reached. */
  oomKills(): number;
  /** The use of processors and memory by the processes; absent are those that are not known, or not limited. */
  usage(): GroupUsage;
}

export interface GroupUsage {
  /** Since the limits began. */
  cpuMicroseconds?: number;
  cpuTotalMillicores?: number;
  memoryUsedBytes?: number;
  memoryTotalBytes?: number;
}

/** How a process is started. */
export interface Conditions {
  directory: string;
  env: Readonly<Record<string, string>>;
  account?: Account;
  /** File descriptor for standard output and standard error; otherwise they are pipes. */
  output?: number;
  /** Limits under which the process is before its program runs. */
  limits?: EnforcedLimits;
}

/** A process that leads a group. */
export interface Running extends Leader {
  /** Resolves to the exit status, which is null if a signal ended the process, and undefined if it cannot be known. */
  ended: Promise<number | null | undefined>;
  /** Whether `ended` resolves as soon as the process ends. */
  isWatched: boolean;
  /** Calls back with what the process writes, if its output is a pipe. Resolves when all have closed the pipe. */
  read(onChunk: (chunk: Buffer) => void): Promise<void>;
}

/** Waits for a line, then becomes the program, without variables of the shell. */
const waitForLimits = 'read -r _ || exit 125; unset PWD OLDPWD SHLVL _; exec "$@" </dev/null';

/**
 * Starts a process in a group of its own. Throws if it cannot be started. No shell reads the command. With limits, one waits
 * until they hold, and is then replaced by the program.
 */
export async function start(command: readonly string[], conditions: Conditions): Promise<Running> {
  const { directory, env, account, output = "pipe", limits } = conditions;
  const [file = "", ...args] = limits ? ["/bin/sh", "-c", waitForLimits, "sh", ...command] : command;
  const child = spawn(file, args, {
    cwd: directory,
    env: { ...env },
    detached: !isWindows,
    windowsHide: true,
    stdio: [limits ? "pipe" : "ignore", output, output],
    ...(account && { uid: account.uid, gid: account.gid }),
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", (status) => resolve(status)));
  await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  child.unref();
  if (limits) {
    // Without its line, it ends.
    child.stdin!.on("error", () => {});
    try {
      limits.enter(child.pid!);
      child.stdin!.write("\n");
    } finally {
      child.stdin!.end();
    }
  }
  const read = (onChunk: (chunk: Buffer) => void) => {
    child.stdout?.on("data", onChunk);
    child.stderr?.on("data", onChunk);
    return new Promise<void>((resolve) => child.once("close", () => resolve()));
  };
  return { ...leaderOf(child.pid!), ended, isWatched: true, read };
}

/** Watches a process that this program did not start, and whose status it does not get. */
export function adopt(leader: Leader, poll: number, signal: AbortSignal): Running {
  const watch = async () => {
    while (!signal.aborted && isAlive(leader)) await delay(poll, signal);
    return undefined;
  };
  return { ...leader, ended: watch(), isWatched: false, read: () => Promise.resolve() };
}
