// The files of the daemon: one directory per workspace, with its home and its state, and a lock.
import { execFile } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { chmod, chown, mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AgentProcesses } from "../../agent/agent.js";
import { type Account, isAlive, type Leader, self } from "../../agent/processes.js";
import type { Limits } from "../protocol.js";
import { StartRefused } from "../../api/settings.js";

/** An agent whose processes run, or have run, in a workspace. */
export interface AgentState {
  name: string;
  token: string;
  processes: AgentProcesses;
  /** The limits of its resource, and the position of the resource in the build. */
  limits?: { resource: number; limits: Limits };
}

/** The state that is kept of a workspace. It has tokens of agents, but no secrets of users. */
export interface WorkspaceState {
  workspaceId: string;
  /** Ports by the names in the template. */
  ports: Record<string, number>;
  /** Parameters of the latest start. */
  parameters: Array<{ name: string; value: string }>;
  /** The start that has not been completed; a later daemon must undo it. */
  job?: { id: string; lease: string };
  agents: AgentState[];
}

const isId = (name: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);

const lockPath = (directory: string) => join(directory, "daemon.json");

/** Returns the last daemon of a directory, which may have ended. */
async function holderOf(directory: string): Promise<Leader | undefined> {
  try {
    return JSON.parse(await readFile(lockPath(directory), "utf8")) as Leader;
  } catch {
    return undefined; // No daemon has used it, or the machine failed while it was written.
  }
}

/** The directory of a daemon. */
export class Folder {
  private constructor(
    readonly path: string,
    private readonly account?: Account,
  ) {}

  /** Makes the directory, and locks it for this process. */
  static async open(path: string, account?: Account): Promise<Folder> {
    // Another user has to pass through the directories, but cannot list them.
    await mkdir(path, { recursive: true, mode: account ? 0o711 : 0o700 });
    const folder = new Folder(await realpath(path), account);
    await folder.#lock();
    return folder;
  }

  /** Whether the directory has workspaces, or a daemon that is running. */
  static async isInUse(path: string): Promise<boolean> {
    const names = await readdir(path).catch(() => []);
    const holder = await holderOf(path);
    return names.some(isId) || (holder !== undefined && isAlive(holder));
  }

  /** Returns the states of all workspaces. */
  async states(): Promise<WorkspaceState[]> {
    const names = (await readdir(this.path)).filter(isId);
    const texts = await Promise.all(
      names.map((name) => readFile(this.#statePath(name), "utf8").catch(() => undefined)),
    );
    return texts.filter((text) => text !== undefined).map((text) => JSON.parse(text) as WorkspaceState);
  }

  /** Replaces the state of a workspace. Synchronous, so that a process is on record from its start. */
  save(state: WorkspaceState): void {
    const path = this.#statePath(state.workspaceId);
    writeFileSync(`${path}.new`, JSON.stringify(state), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }

  /** Makes the directories of a workspace. Returns them. */
  async make(workspaceId: string): Promise<{ home: string; temporary: string }> {
    const own = this.#directory(workspaceId);
    await mkdir(own, { recursive: true });
    await chmod(own, this.account ? 0o711 : 0o700);
    const home = join(own, "home");
    const temporary = join(own, "tmp");
    for (const directory of [home, temporary]) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      if (this.account) await chown(directory, this.account.uid, this.account.gid);
    }
    return { home, temporary };
  }

  outputPath(workspaceId: string, agent: string): string {
    return join(this.#directory(workspaceId), `${agent}.log`);
  }

  /** Removes all files of a workspace, which has no processes. */
  async remove(workspaceId: string): Promise<void> {
    const own = this.#directory(workspaceId);
    if (this.account) await this.#empty(this.account, [join(own, "home"), join(own, "tmp")]);
    await rm(own, { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Removes what a user owns as that user. Programs of the same user could otherwise replace directories by links
   * meanwhile, and have root remove other files.
   */
  async #empty({ uid, gid }: Account, directories: string[]): Promise<void> {
    // The directories themselves remain: their parent belongs to root.
    const options = { uid, gid, cwd: "/", env: { PATH: process.env.PATH } };
    await promisify(execFile)("rm", ["-rf", "--", ...directories], options).catch(() => {});
    for (const directory of directories) await chown(directory, 0, 0).catch(() => {});
  }

  /** Allows one daemon per directory: two would run the same workspaces. */
  async #lock(): Promise<void> {
    const holder = await holderOf(this.path);
    if (holder && isAlive(holder) && holder.pid !== process.pid)
      throw new StartRefused(
        `Another daemon (process ${holder.pid}) uses ${this.path}. Set STEWARD_PROVISIONER_DIR to another directory.`,
      );
    await writeFile(lockPath(this.path), JSON.stringify(self()), { mode: 0o600 });
  }

  #directory(workspaceId: string): string {
    if (!isId(workspaceId)) throw new Error("The ID of the workspace is malformed.");
    return join(this.path, workspaceId);
  }

  #statePath(workspaceId: string): string {
    return join(this.#directory(workspaceId), "state.json");
  }
}
