// Limits of the resources of workspaces, by control groups of Linux (cgroups v2): one for each resource with limits.
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { type EnforcedLimits, Unkillable } from "../../agent/processes.js";
import { delay } from "../../api/delay.js";
import type { Limits } from "../protocol.js";

/** The controllers of the kernel for the limits. */
const controllers = { memory: "memory", cpus: "cpu", processes: "pids" } as const;
type Kind = keyof typeof controllers;
const kinds = Object.keys(controllers) as Kind[];

/** The cgroup of the daemon below its own one: only those without processes can limit others below them. */
const leaf = "steward-daemon";

/** Milliseconds for killed processes to leave their cgroup, and between looks at it. */
const killTimeout = 10_000;
const pollInterval = 50;

/** Microseconds of the period of `cpu.max`. */
const period = 100_000;

/** Limits cannot be enforced. The message says why, after "because". */
class Unavailable extends Error {}

/** The cgroups of a daemon. They are named after its directory, so that several daemons can share a parent. */
export class Cgroups {
  readonly #prefix: string;
  /** The removals in progress, by workspace. */
  readonly #removals = new Map<string, Promise<void>>();

  private constructor(
    directory: string,
    private readonly base: string,
    private readonly available: ReadonlySet<string>,
    private readonly reason: string,
  ) {
    this.#prefix = `steward-${createHash("sha256").update(directory).digest("hex").slice(0, 12)}-`;
  }

  /**
   * Finds the parent of the cgroups: the given one, otherwise that of this process, which it moves into one below. Does not
   * throw: if there is none, it keeps the reason.
   */
  static open(directory: string, given: string, proc = "/proc"): Cgroups {
    try {
      if (process.platform !== "linux") throw new Unavailable("it does not run Linux");
      const own = given === "" ? ownCgroup(proc) : undefined;
      const isInLeaf = own !== undefined && basename(own) === leaf;
      const base = isInLeaf ? dirname(own) : (own ?? given);
      const available = availableIn(base);
      if (own !== undefined && !isInLeaf) moveToLeaf(base, proc);
      const control = join(base, "cgroup.subtree_control");
      const enabled = wordsOf(control);
      const missing = available.filter((name) => !enabled.includes(name));
      if (missing.length > 0) writeFileSync(control, missing.map((name) => `+${name}`).join(" "));
      const all = Object.values(controllers);
      const absent = all.filter((name) => !available.includes(name)).join(", ");
      return new Cgroups(directory, base, new Set(available), `the cgroup ${base} lacks the controllers ${absent}`);
    } catch (error) {
      const { message } = error as Error;
      const reason = error instanceof Unavailable ? message : `cgroups cannot be set up (${message})`;
      return new Cgroups(directory, "", new Set(), reason);
    }
  }

  /** A line for the operator: where limits are enforced, or why not. */
  get notice(): string {
    return faultOf(this.#lacking(kinds), this.reason) ?? `Limits of resources are enforced by cgroups in ${this.base}.`;
  }

  /**
   * Makes the cgroup of a resource, unless it exists, and sets its limits. Returns what puts processes into it, and why some
   * limits, or all, are not enforced.
   */
  enforce(workspaceId: string, resource: number, limits: Limits): { enforced?: EnforcedLimits; fault?: string } {
    const wanted = kinds.filter((kind) => limits[kind] !== undefined && limits[kind] !== "");
    const lacking = this.#lacking(wanted);
    const fault = faultOf(lacking, this.reason);
    const possible = wanted.filter((kind) => !lacking.includes(kind));
    if (possible.length === 0) return { fault };
    const path = join(this.base, `${this.#prefix}${workspaceId}-${resource}`);
    try {
      if (!existsSync(path)) mkdirSync(path);
      for (const kind of possible) setLimit(path, kind, String(limits[kind]));
      return { enforced: limitsOf(path), fault };
    } catch (error) {
      return { fault: faultOf(wanted, `the cgroup ${path} could not be set up: ${(error as Error).message}`) };
    }
  }

  /** The workspaces that have cgroups. */
  workspaces(): string[] {
    const ids = this.#names().map((name) => name.slice(this.#prefix.length, name.lastIndexOf("-")));
    return [...new Set(ids)];
  }

  /** Ends all processes in the cgroups of a workspace, and removes them. Throws `Unkillable`. */
  remove(workspaceId: string): Promise<void> {
    // One at a time: a second one could end what was started after the first.
    const removal = this.#removals.get(workspaceId) ?? this.#remove(workspaceId);
    this.#removals.set(workspaceId, removal);
    return removal;
  }

  async #remove(workspaceId: string): Promise<void> {
    const names = this.#names().filter((name) => name.startsWith(`${this.#prefix}${workspaceId}-`));
    try {
      // The map has this removal before it can end.
      await Promise.resolve();
      for (const name of names) await end(join(this.base, name));
    } finally {
      this.#removals.delete(workspaceId);
    }
  }

  #names(): string[] {
    return this.base === "" ? [] : directoriesIn(this.base).filter((name) => name.startsWith(this.#prefix));
  }

  /** The kinds of limits for which the controllers are missing. */
  #lacking(wanted: readonly Kind[]): Kind[] {
    return wanted.filter((kind) => !this.available.has(controllers[kind]));
  }
}

const faultOf = (lacking: readonly Kind[], reason: string): string | undefined =>
  lacking.length === 0
    ? undefined
    : `Limits of ${lacking.join(", ")} are not enforced on this machine because ${reason}.`;

const wordsOf = (path: string): string[] => readFileSync(path, "utf8").split(/\s+/).filter(Boolean);

const directoriesIn = (path: string): string[] =>
  readdirSync(path, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []));

/** Returns the directory of the cgroup of this process (cgroups(7), proc_pid_mountinfo(5)). */
function ownCgroup(proc: string): string {
  const own = readFileSync(join(proc, "self/cgroup"), "utf8").match(/^0::(\/.*)$/m)?.[1];
  const mounts = readFileSync(join(proc, "self/mountinfo"), "utf8").split("\n");
  const mount = mounts.find((line) => / - cgroup2 /.test(line))?.split(" ");
  if (own === undefined || !mount) throw new Unavailable("it has no cgroups v2");
  const root = mount[3]!;
  const point = mount[4]!.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(parseInt(code, 8)));
  const below =
    root === "/" ? own : own === root ? "" : own.startsWith(`${root}/`) ? own.slice(root.length) : undefined;
  if (below === undefined || below.startsWith("/..")) throw new Unavailable("the cgroup of the daemon is not mounted");
  return join(point, below);
}

/** Returns the controllers that cgroups below this one can have. */
function availableIn(base: string): string[] {
  try {
    const offered = wordsOf(join(base, "cgroup.controllers"));
    const available = Object.values(controllers).filter((name) => offered.includes(name));
    if (available.length === 0)
      throw new Unavailable(`the cgroup ${base} has none of the controllers ${Object.values(controllers).join(", ")}`);
    accessSync(base, constants.W_OK);
    return available;
  } catch (error) {
    if (error instanceof Unavailable) throw error;
    throw new Unavailable(`the daemon cannot use the cgroup ${base} (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Moves this process, and those that started it, such as npm, into a cgroup below theirs. Others must not be in theirs. */
function moveToLeaf(base: string, proc: string): void {
  const family = new Set<number>();
  for (let pid = process.pid; pid > 0; pid = parentOf(pid, proc)) family.add(pid);
  const pids = wordsOf(join(base, "cgroup.procs"));
  if (!pids.every((pid) => family.has(Number(pid))))
    throw new Unavailable(`other processes than the daemon run in its cgroup ${base}`);
  mkdirSync(join(base, leaf), { recursive: true });
  for (const pid of pids) writeFileSync(join(base, leaf, "cgroup.procs"), pid);
}

const parentOf = (pid: number, proc: string): number =>
  Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(join(proc, `${pid}/status`), "utf8"))?.[1] ?? 0);

function setLimit(path: string, kind: Kind, amount: string): void {
  const write = (file: string, text: string) => writeFileSync(join(path, file), text);
  switch (kind) {
    case "memory":
      write("memory.max", String(bytesOf(amount)));
      // Without swap in the kernel, there is no such file. Otherwise the processes would swap rather than end.
      if (existsSync(join(path, "memory.swap.max"))) write("memory.swap.max", "0");
      return;
    case "cpus":
      return write("cpu.max", `${Math.round(Number(amount) * period)} ${period}`);
    case "processes":
      return write("pids.max", amount);
    default:
      return kind satisfies never;
  }
}

function bytesOf(amount: string): number {
  const [, number, unit = ""] = /^(\d+)([KMGT])iB$/.exec(amount) ?? [];
  if (number === undefined) throw new Unavailable(`${amount} is not an amount of memory`);
  return Number(number) * 1024 ** ("KMGT".indexOf(unit) + 1);
}

function limitsOf(path: string): EnforcedLimits {
  /** A number in a file; undefined if there is none, as without the controller, or once the cgroup has been removed. */
  const numberIn = (file: string, pattern = /^(\d+)$/m): number | undefined => {
    try {
      const [, digits] = pattern.exec(readFileSync(join(path, file), "utf8")) ?? [];
      return digits === undefined ? undefined : Number(digits);
    } catch {
      return undefined;
    }
  };
  return {
    enter: (pid) => writeFileSync(join(path, "cgroup.procs"), String(pid)),
    oomKills: () => numberIn("memory.events", /^oom_kill (\d+)$/m) ?? 0,
    usage() {
      const quota = numberIn("cpu.max", /^(\d+) /);
      const memory = numberIn("memory.current");
      // Files that are kept in memory only while there is room are not in use.
      const files = numberIn("memory.stat", /^inactive_file (\d+)$/m) ?? 0;
      return {
        cpuMicroseconds: numberIn("cpu.stat", /^usage_usec (\d+)$/m),
        cpuTotalMillicores: quota && Math.round((quota / (numberIn("cpu.max", / (\d+)$/m) ?? period)) * 1000),
        memoryUsedBytes: memory && Math.max(0, memory - files),
        memoryTotalBytes: numberIn("memory.max"),
      };
    },
  };
}

/** Ends all processes of a cgroup and of those below it, and removes them. */
async function end(path: string): Promise<void> {
  for (const deadline = Date.now() + killTimeout; ; await delay(pollInterval)) {
    try {
      kill(path);
      removeTree(path);
      return;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (code === "ENOENT" && !existsSync(path)) return;
      if (["EBUSY", "ENOTEMPTY", "ENOENT"].includes(code) && Date.now() < deadline) continue;
      throw new Unkillable(`The cgroup ${path} could not be removed: ${(error as Error).message}`);
    }
  }
}

function kill(path: string): void {
  const file = join(path, "cgroup.kill");
  if (existsSync(file)) return writeFileSync(file, "1");
  // Kernels before 5.14. The ID 0 is that of a process that cannot be seen from here; to kill, it means this group.
  for (const pid of wordsOf(join(path, "cgroup.procs")).filter((each) => each !== "0"))
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended.
    }
  for (const name of directoriesIn(path)) kill(join(path, name));
}

/** The files of a cgroup go with its directory. */
function removeTree(path: string): void {
  for (const name of directoriesIn(path)) removeTree(join(path, name));
  rmdirSync(path);
}
