import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Nanoseconds of CPU time. */
export interface CpuMeter {
  read(): number;
}

/** Throws on systems whose kernel does not count the CPU time of threads in nanoseconds. */
function requireSchedstat(): void {
  if (!existsSync("/proc/self/schedstat"))
    throw new Error("CPU time is read from /proc/PID/schedstat, which this system does not have. It takes Linux.");
}

/** The CPU time of all threads of a process. A thread that has ended counts with its last reading. */
export class ProcessCpu implements CpuMeter {
  readonly #threads = new Map<string, number>();

  constructor(private readonly pid: number) {
    requireSchedstat();
  }

  read(): number {
    for (const thread of readdirSync(`/proc/${this.pid}/task`)) {
      const time = runTime(`${this.pid}/task/${thread}`);
      if (time !== undefined) this.#threads.set(thread, time);
    }
    return sum(this.#threads.values());
  }
}

/**
 * The CPU time of a Postgres cluster: the postmaster, its children, and those children that have exited. The kernel
 * reports the latter in clock ticks (10 ms), everything else in nanoseconds.
 */
export class ClusterCpu implements CpuMeter {
  constructor(private readonly postmaster: number) {
    requireSchedstat();
  }

  /** Meters the cluster to which this backend belongs. */
  static ofBackend(backend: number): ClusterCpu {
    return new ClusterCpu(Number(statOf(backend)[1]));
  }

  read(): number {
    // A child that exits between two of these lines is either reaped or read as a zombie, so it counts once.
    for (;;) {
      const exited = exitedChildren(this.postmaster);
      const times = [this.postmaster, ...childrenOf(this.postmaster)].map((pid) => runTime(String(pid)));
      const known = times.filter((time) => time !== undefined);
      if (known.length === times.length && exitedChildren(this.postmaster) === exited) return sum(known) + exited;
    }
  }
}

/** Nanoseconds per clock tick (`USER_HZ`, 100 on every architecture that Node runs on). */
const tick = 10_000_000;

/** The first field of schedstat: nanoseconds on a CPU. `undefined` if there is no such process or thread. */
function runTime(path: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${path}/schedstat`, "latin1").split(" ", 1)[0]);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

/** The fields of `/proc/PID/stat` behind the name of the program: state, parent, … (proc_pid_stat(5)). */
function statOf(pid: number): string[] {
  const text = readFileSync(`/proc/${pid}/stat`, "latin1");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** Nanoseconds used by children that have exited: `cutime` and `cstime`. */
function exitedChildren(pid: number): number {
  const stat = statOf(pid);
  return (Number(stat[13]) + Number(stat[14])) * tick;
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ").filter(Boolean).map(Number);

const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
