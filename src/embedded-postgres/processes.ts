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

/** The cheap question, for polling. */
export function isAlive(pid: number): boolean {
  if (process.platform === "linux") return inspectByProc(pid) !== undefined;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function inspectByProc(pid: number): LiveProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold anything; state and start time are the 1st and 20th field behind it (proc(5)).
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    const boot = readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    return { started: `${boot} ${fields[19]}`, command };
  } catch {
    return undefined; // it ended before or between the reads
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
