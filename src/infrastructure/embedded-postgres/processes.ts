import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeOf } from "./errors.js";

/** A running process. `started` distinguishes it from a later process with the same ID. */
export interface LiveProcess {
  started: string;
  command: string;
}

/** Reads the start and the command of a process; undefined if it has ended, including zombies. */
export const inspect: (pid: number) => LiveProcess | undefined =
  process.platform === "linux" ? inspectByProc : inspectByPs;

/**
 * Whether a process is running. Cheap enough for polling, and never throws: a process whose status cannot be read, for
 * example because no file descriptor is left, counts as running while its ID exists.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== "EPERM") return false;
  }
  if (process.platform !== "linux") return true;
  try {
    return readStat(pid) !== undefined;
  } catch {
    return true;
  }
}

function inspectByProc(pid: number): LiveProcess | undefined {
  const fields = readStat(pid);
  const command = fields && readOfProcess(pid, "cmdline");
  if (command === undefined) return undefined;
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return { started: `${boot} ${fields![19]}`, command: command.replaceAll("\0", " ") };
}

/** Reads `/proc/<pid>/stat` from the state field on (proc(5)); undefined if the process has ended, including zombies. */
function readStat(pid: number): string[] | undefined {
  const stat = readOfProcess(pid, "stat");
  // The name in parentheses may contain any character; the state and the start time are fields 1 and 20 after it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields?.[0] === "Z" || fields?.[0] === "X" ? undefined : fields;
}

/** Reads a file of a process; undefined if the process has ended. Throws if the file cannot be read otherwise. */
function readOfProcess(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(codeOf(error))) return undefined;
    throw error;
  }
}

function inspectByPs(pid: number): LiveProcess | undefined {
  try {
    const line = execFileSync("ps", ["-ww", "-o", "stat=,lstart=,command=", "-p", String(pid)], {
      encoding: "utf8",
      env: { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    // S+  Sat Nov 21 02:03:04 2026  /path/postgres -D …
    const [, state, started, command] = /^(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/m.exec(line) ?? [];
    if (!state || state.startsWith("Z")) return undefined;
    return { started: started!, command: `${command} ` };
  } catch {
    return undefined; // ps exits with 1 if the process does not exist
  }
}
