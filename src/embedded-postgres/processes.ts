import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { codeOf } from "./errors.js";

/** A live process. The start tells it from a later process with the same id. */
export interface LiveProcess {
  started: string;
  command: string;
}

/** Facts about a process; nothing for one that has ended, also if its parent has not yet taken notice (a zombie). */
export const inspect: (pid: number) => LiveProcess | undefined =
  process.platform === "linux" ? inspectByProc : inspectByPs;

/** The cheap question, for polling. Never throws: a process of which nothing can be read, for example because this one
 * has no file descriptor left, counts as alive while the system knows its id. */
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

/** The fields of `/proc/<pid>/stat` from the state on (proc(5)); nothing if the process has ended, also as a zombie. */
function readStat(pid: number): string[] | undefined {
  const stat = readOfProcess(pid, "stat");
  // The name in parentheses may hold anything; state and start time are the 1st and 20th field behind it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields?.[0] === "Z" || fields?.[0] === "X" ? undefined : fields;
}

/** A file of a process; nothing if the process has ended. Throws if the file cannot be read for another reason. */
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
    return undefined; // ps ends with 1 when there is no such process
  }
}
