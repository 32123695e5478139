// The daemon of the demonstration's own server: the real one of the type `process`, which runs the programs of workspaces
// on this machine.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "./client.js";
import { environment, newNode, project } from "./server.js";

/** Milliseconds that the daemon has to connect. */
const startLimit = 30_000;

/** How programs of workspaces run. */
export interface Running {
  /** Directory of the workspaces. */
  directory: string;
  /** Whether they run as `nobody`, who owns nothing. */
  isConfined: boolean;
}

/** The programs of templates, beside this one in `dist`. */
export const programs = { assistant: join(project, "dist/assistant.mjs"), app: join(project, "dist/workbench.mjs") };

/**
 * Decides how programs run: as `nobody` if this is root and that account can enter all it needs. Its workspaces are in the
 * directory of the demonstration, or in one of their own where `nobody` cannot enter that one.
 */
export function chooseRunning(directory: string, known?: Running): Running {
  if (known && existsSync(known.directory)) return known;
  const own = join(directory, "workspaces");
  const isConfined = process.getuid?.() === 0 && Object.values(programs).every((path) => canRead(path));
  if (!isConfined) return { directory: own, isConfined };
  mkdirSync(own, { recursive: true });
  for (const path of [directory, own]) chmodSync(path, 0o711);
  if (canRead(own)) return { directory: own, isConfined };
  const apart = mkdtempSync(join(tmpdir(), "steward-demo-"));
  chmodSync(apart, 0o711);
  return { directory: apart, isConfined };
}

/** Whether `nobody` can run this Node.js and reach a path. */
function canRead(path: string): boolean {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (!uid || !gid) return false;
  const script = `require("node:fs").accessSync(process.argv[1], ${path.endsWith(".mjs") ? 4 : 1})`;
  const account = { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
  return spawnSync(newNode(), ["-e", script, path], { ...account, cwd: "/", env: {} }).status === 0;
}

/** Removes the workspaces of an earlier demonstration that are not in its directory. */
export function removeWorkspaces(running: Running | undefined): void {
  if (running?.directory.startsWith(join(tmpdir(), "steward-demo-")))
    rmSync(running.directory, { recursive: true, force: true });
}

/** As whom programs run, for people. */
export const runningNotice = ({ isConfined }: Running): string => {
  if (isConfined) return "Programs of workspaces run as nobody, an account without rights.";
  const who = process.getuid?.() === 0 ? "as root, since nobody cannot enter this directory" : "as you";
  return `Programs of workspaces run ${who}: they can read what you can read.`;
};

/** Milliseconds before a daemon that has ended starts again. */
const restartDelay = 1_000;

/** The daemon process. It starts again if it ends by itself, and ends when this process does. */
export class OwnDaemon {
  readonly #life = new AbortController();
  #child: ChildProcess | undefined;

  private constructor(
    private readonly settings: Record<string, string>,
    private readonly logFile: string,
  ) {}

  /** Starts the daemon, and waits until it takes jobs. Its output goes to a file. */
  static async start(url: string, key: string, running: Running, logFile: string): Promise<OwnDaemon> {
    const settings = {
      STEWARD_URL: url,
      STEWARD_PROVISIONER_KEY: key,
      STEWARD_PROVISIONER_NAME: "workshop",
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_SLOTS: "8",
      STEWARD_PROVISIONER_DIR: running.directory,
      ...(isRoot() && { STEWARD_PROVISIONER_USER: running.isConfined ? "nobody" : "root" }),
    };
    const daemon = new OwnDaemon(settings, logFile);
    rmSync(logFile, { force: true });
    try {
      await daemon.#run();
    } catch (error) {
      daemon.#child?.kill("SIGTERM");
      throw error;
    }
    void daemon.#keepRunning();
    return daemon;
  }

  /** Starts the process, and waits until it takes jobs. */
  async #run(): Promise<void> {
    const log = openSync(this.logFile, "a", 0o600);
    const { size } = fstatSync(log);
    const options = ["--end-programs", "--allow-shared-user", ...(isRoot() ? ["--allow-root"] : [])];
    this.#child = spawn(newNode(), [join(project, "dist/provisioner/main.js"), ...options], {
      env: { ...environment(), ...this.settings },
      stdio: ["ignore", log, log, "ipc"],
      detached: true,
    });
    closeSync(log);
    for (const end = Date.now() + startLimit; Date.now() < end; await delay(50)) {
      const output = readFileSync(this.logFile).subarray(size).toString();
      if (output.includes("Waiting for jobs")) return;
      if (hasEnded(this.#child)) throw new Failure(`The daemon did not start: ${output.trim()}`, "UNREACHABLE");
    }
    throw new Failure(`The daemon did not connect; see ${this.logFile}.`, "UNREACHABLE");
  }

  async #keepRunning(): Promise<void> {
    const { signal } = this.#life;
    while (!signal.aborted) {
      await ended(this.#child!);
      if (signal.aborted) return;
      console.error(`The daemon has ended; see ${this.logFile}. It starts again.`);
      await delay(restartDelay, undefined, { signal }).catch(() => {});
      if (!signal.aborted) await this.#run().catch((error: unknown) => console.error(String(error)));
    }
  }

  /** Ends the daemon with all programs of workspaces, also those that a daemon which was killed has left behind. */
  stop = async (): Promise<void> => {
    this.#life.abort();
    const child = this.#child;
    if (child && hasEnded(child)) await this.#run().catch(() => {});
    this.#child?.kill("SIGTERM");
    if (this.#child) await ended(this.#child);
  };
}

const isRoot = () => process.getuid?.() === 0;

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

const ended = async (child: ChildProcess): Promise<void> => {
  if (!hasEnded(child)) await once(child, "exit");
};
