// The daemon of the demonstration's own server: the real one of the type `process`, which runs the programs of workspaces
// on this machine.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
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

export class OwnDaemon {
  private constructor(private readonly child: ChildProcess) {}

  /** Starts the daemon, and waits until it takes jobs. Its output goes to a file. It ends when this process does. */
  static async start(url: string, key: string, running: Running, logFile: string): Promise<OwnDaemon> {
    const log = openSync(logFile, "w", 0o600);
    const isRoot = process.getuid?.() === 0;
    const settings = {
      STEWARD_URL: url,
      STEWARD_PROVISIONER_KEY: key,
      STEWARD_PROVISIONER_NAME: "workshop",
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_SLOTS: "8",
      STEWARD_PROVISIONER_DIR: running.directory,
      ...(isRoot && { STEWARD_PROVISIONER_USER: running.isConfined ? "nobody" : "root" }),
    };
    const options = ["--end-programs", "--allow-shared-user", ...(isRoot ? ["--allow-root"] : [])];
    const child = spawn(newNode(), [join(project, "dist/provisioner/main.js"), ...options], {
      env: { ...environment(), ...settings },
      stdio: ["ignore", log, log, "ipc"],
      detached: true,
    });
    closeSync(log);
    const daemon = new OwnDaemon(child);
    for (const end = Date.now() + startLimit; Date.now() < end; await delay(50)) {
      const output = readFileSync(logFile, "utf8");
      if (output.includes("Waiting for jobs")) return daemon;
      if (child.exitCode !== null) throw new Failure(`The daemon did not start: ${output.trim()}`, "UNREACHABLE");
    }
    await daemon.stop();
    throw new Failure(`The daemon did not connect; see ${logFile}.`, "UNREACHABLE");
  }

  /** Ends the daemon with all programs of workspaces. */
  stop = async (): Promise<void> => {
    this.child.kill("SIGTERM");
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
  };
}
