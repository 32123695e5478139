import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { chown, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Account, creatorFor, giveTo, ownerOf, removeTree } from "./account.js";
import type { Binaries } from "./binaries.js";
import { ClusterError, codeOf, explain, useOwnDatabase } from "./errors.js";
import { inspect, isAlive } from "./processes.js";

/** Everything that is needed to run the Postgres of a directory. */
export interface Installation {
  binaries: Binaries;
  home: string;
  account?: Account;
  port: number;
  password: string;
  fsync: boolean;
}

/** Where the files of an installation are. */
type Place = Pick<Installation, "binaries" | "home">;

export const superuser = "steward";

/** Milliseconds to wait for a start, which may include crash recovery. */
const startLimit = 60_000;
/** Milliseconds to wait for each stop signal. The final checkpoint on a slow disk takes longest. */
const stopLimit = 20_000;
/** Milliseconds to retry: backends whose postmaster was killed keep the shared memory until they notice. */
const lingerLimit = 10_000;

/**
 * Returns the process ID of the installation's Postgres, which is started unless it is already running. Aborting the
 * signal ends the wait with its reason; `onLaunch` gets the process ID before the wait.
 */
export async function ensureRunning(
  installation: Installation,
  signal?: AbortSignal,
  onLaunch: (pid: number) => void = () => {},
): Promise<{ pid: number; isNew: boolean }> {
  const running = findRunning(installation);
  if (running !== undefined && (await becomesReady(installation, running, signal)))
    return { pid: running, isNew: false };

  if (!existsSync(dataOf(installation))) await createData(installation);
  const giveUp = Date.now() + lingerLimit;
  for (;;) {
    // The file contains the ID of a process that has ended or that is not Postgres.
    rmSync(pidFileOf(installation), { force: true });
    signal?.throwIfAborted();
    const pid = await launch(installation);
    onLaunch(pid);
    if (await becomesReady(installation, pid, signal)) return { pid, isNew: true };
    const reason = lastWords(installation);
    if (!reason.includes("shared memory block") || Date.now() > giveUp) throw cannotStart(installation, reason);
    await sleep(100);
  }
}

/** Stops Postgres like `pg_ctl stop -m fast`: open transactions are rolled back, committed data is flushed. */
export async function stop(pid: number): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    const deadline = Date.now() + stopLimit;
    if (isAlive(pid)) process.kill(pid, signal);
    while (isAlive(pid) && Date.now() < deadline) await sleep(10);
    if (!isAlive(pid)) return;
  }
  throw new ClusterError(`Postgres (process ${pid}) did not stop.`);
}

/** Returns the last lines of the Postgres log since its last start. */
export function lastWords(installation: Installation): string {
  return tail(readFileSync(logOf(installation), "utf8"));
}

/** Returns the process ID of a Postgres of this installation that an earlier server left running. */
export function findRunning(installation: Place): number | undefined {
  const pid = readPidFile(installation)?.pid;
  const command = pid && inspect(pid)?.command;
  return command && command.includes(` -D ${dataOf(installation)} `) ? pid : undefined;
}

/** Waits until Postgres accepts connections. Resolves to false if it ends instead; throws after `startLimit`. */
async function becomesReady(installation: Installation, pid: number, signal?: AbortSignal): Promise<boolean> {
  const deadline = Date.now() + startLimit;
  while (isAlive(pid)) {
    signal?.throwIfAborted();
    const file = readPidFile(installation);
    if (file?.pid === pid && file.status === "ready") return true;
    if (Date.now() > deadline) throw cannotStart(installation, lastWords(installation));
    await sleep(10);
  }
  return false;
}

/** Reads `postmaster.pid`: line 1 is the process ID, line 8 the status. */
function readPidFile(installation: Place): { pid: number; status?: string } | undefined {
  const path = pidFileOf(installation);
  if (!existsSync(path)) return undefined;
  const lines = readFileSync(path, "utf8").split("\n");
  return { pid: Number(lines[0]), status: lines[7]?.trim() };
}

async function launch(installation: Installation): Promise<number> {
  const settings = {
    listen_addresses: "127.0.0.1",
    port: installation.port,
    unix_socket_directories: "",
    max_connections: 200,
    shared_buffers: "128MB",
    timezone: "UTC",
    log_timezone: "UTC",
    // Starts, stops, and crashes only. Failed statements are reported to their callers and may contain personal data.
    log_min_messages: "log",
    log_checkpoints: "off",
    ...(installation.fsync ? {} : { fsync: "off", full_page_writes: "off" }),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = openSync(logOf(installation), "w", 0o600);
  try {
    if (installation.account) chownSync(logOf(installation), installation.account.uid, installation.account.gid);
    const child = await run(installation, "postgres", ["-D", dataOf(installation), ...options], log);
    child.unref();
    return child.pid!;
  } finally {
    closeSync(log);
  }
}

/**
 * Creates the data in a directory beside it and moves it, so that incomplete data is never used. Only the group of the
 * account can traverse that directory.
 */
async function createData(installation: Installation): Promise<void> {
  const { account, password, fsync } = installation;
  const outer = `${dataOf(installation)}.new`;
  const data = join(outer, "data");
  const passwordFile = join(outer, "password");
  const creator = account && creatorFor(account);
  try {
    await removeTree(outer);
    await mkdir(outer, { mode: account ? 0o710 : 0o700 });
    if (account) await chown(outer, process.getuid!(), account.gid);
    await mkdir(data, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (creator) await giveTo(creator, data, passwordFile);
    const options = [
      `--pgdata=${data}`,
      `--username=${superuser}`,
      `--pwfile=${passwordFile}`,
      "--auth=scram-sha-256",
      "--encoding=UTF8",
      // The same on every system: Unicode case mapping, code point order.
      "--no-locale",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      ...(fsync ? [] : ["--no-sync"]),
    ];
    const child = await run({ ...installation, account: creator }, "initdb", options, "pipe");
    let output = "";
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (output += String(chunk)));
    await once(child, "close");
    if (child.exitCode !== 0) throw cannotStart(installation, tail(output));
    if (account) await giveTo(account, data);
    await rename(data, dataOf(installation));
  } finally {
    await removeTree(outer);
  }
}

/** Gives the data to the account, if an earlier release ran Postgres as another one. */
export async function changeOwner(installation: Place & Pick<Installation, "account">): Promise<void> {
  const { account } = installation;
  const owner = ownerOf(dataOf(installation));
  if (!account || !owner || owner.uid === account.uid) return;
  const running = findRunning(installation);
  if (running !== undefined) await stop(running);
  await giveTo(account, dataOf(installation));
}

/** Starts a program in its own session, so that Ctrl-C reaches only Steward, which stops Postgres after draining. */
async function run(
  { binaries, home, account }: Installation,
  program: string,
  args: string[],
  output: "pipe" | number,
): Promise<ChildProcess> {
  const child = spawn(join(binaries.root, "bin", program), args, {
    ...account,
    cwd: home,
    // Does not inherit the environment, which contains secrets and may contain PG* variables.
    env: { PATH: process.env.PATH, LC_ALL: "C" },
    stdio: ["ignore", output, output],
    detached: true,
  });
  try {
    await once(child, "spawn");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw explain(error, "Postgres could not be started");
    throw new ClusterError(`The embedded Postgres does not run on this system (no glibc?). ${useOwnDatabase}`, {
      cause: error,
    });
  }
  return child;
}

function cannotStart({ home }: Installation, reason: string): ClusterError {
  const summary = /No space left|quota exceeded/i.test(reason)
    ? `the disk that contains ${home} is full.`
    : "its last log lines are:";
  return new ClusterError(`Postgres could not be started: ${summary}\n${reason}`);
}

const dataOf = ({ home, binaries }: Place) => join(home, binaries.major);
const logOf = (installation: Installation) => `${dataOf(installation)}.log`;
const pidFileOf = (installation: Place) => join(dataOf(installation), "postmaster.pid");
const tail = (text: string) => text.trim().split("\n").slice(-10).join("\n");
