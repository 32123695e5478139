import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "./client.js";

/** The folder of the project: this module is bundled into `dist`. */
export const project = fileURLToPath(new URL("..", import.meta.url));

/** Milliseconds that a server has to become ready: the first start creates the database. */
const startLimit = 120_000;

/** A server process. It ends when this process does, however that ends. */
export class OwnServer {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  /** Starts the server, and waits until it is ready. Its output goes to a file. */
  static async start(settings: Record<string, string>, logFile: string): Promise<OwnServer> {
    const log = openSync(logFile, "a", 0o600);
    const child = spawn(newNode(), [join(project, "dist/main.js")], {
      env: { ...environment(), ...settings },
      stdio: ["ignore", log, log, "ipc"],
      // Ctrl-C reaches this process alone, which stops the server.
      detached: true,
    });
    closeSync(log);
    const server = new OwnServer(`http://localhost:${settings.STEWARD_PORT}`, child);
    try {
      await server.#ready(logFile);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  /** Resolves when the process has ended. */
  ended = async (): Promise<void> => {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "exit");
  };

  stop = async (): Promise<void> => {
    this.child.kill("SIGTERM");
    await this.ended();
  };

  async #ready(logFile: string): Promise<void> {
    for (const end = Date.now() + startLimit; Date.now() < end; await delay(100)) {
      if (this.child.exitCode !== null)
        throw new Failure(`The server did not start: ${lastLines(logFile)}`, "UNREACHABLE");
      if (await isReady(this.url)) return;
    }
    throw new Failure(`The server did not become ready; see ${logFile}.`, "UNREACHABLE");
  }
}

export const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
    ({ ok }) => ok,
    () => false,
  );

const lastLines = (path: string) => readFileSync(path, "utf8").trim().split("\n").slice(-3).join("\n");

/** The Node.js that npm has installed, otherwise that of this process. */
export function newNode(): string {
  const newer = join(project, "node_modules/.bin/node");
  return existsSync(newer) ? realpathSync(newer) : process.execPath;
}

/** The environment without settings of other servers, such as those of `npm start`. */
export function environment(): NodeJS.ProcessEnv {
  const others = /^(STEWARD_|DATABASE_URL$|HOST$|PORT$|OTEL_|PG)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !others.test(name)));
}

/** Opens an address in a browser, if this machine can show one. Returns whether it tried. */
export function openBrowser(url: string): boolean {
  const { platform, env, stdout } = process;
  const isLocal = stdout.isTTY && !env.CI && !env.SSH_CONNECTION;
  const program = platform === "darwin" ? "open" : env.DISPLAY || env.WAYLAND_DISPLAY ? "xdg-open" : undefined;
  if (!isLocal || !program) return false;
  spawn(program, [url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
  return true;
}
