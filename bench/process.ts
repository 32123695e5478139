import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ProcessCpu } from "./cpu.js";

/** Milliseconds in which a server must print its URL, and in which it must end. */
const timeout = 60_000;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A server in a process of its own. End it with `await using`. */
export class ServerProcess implements AsyncDisposable {
  /** Its CPU time so far. */
  readonly cpu: ProcessCpu;

  private constructor(
    private readonly child: ChildProcess,
    readonly url: URL,
  ) {
    this.cpu = new ProcessCpu(child.pid!);
  }

  /**
   * Starts a script, relative to `bench/`. Resolves when it has printed the loopback URL that it listens on.
   */
  static async start(script: string, env: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const loader = script.endsWith(".ts") ? ["--import", here("../tools/ts-loader.mjs")] : [];
    const child = spawn(process.execPath, [...loader, here(script)], {
      env: { PATH: process.env.PATH, NODE_ENV: "production", ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const kill = () => void child.kill("SIGKILL");
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    const { promise, resolve, reject } = Promise.withResolvers<URL>();
    /** The end of its output. */
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-20_000);
        const [, port] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(output) ?? [];
        if (port) resolve(new URL(`http://127.0.0.1:${port}`));
      });
    child.once("exit", () => reject(new Error(`${script} has ended. The end of its output:\n${output}`)));
    const overdue = setTimeout(kill, timeout);
    return new ServerProcess(child, await promise.finally(() => clearTimeout(overdue)));
  }

  /** Its resident memory in bytes. */
  get memory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1_024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const overdue = setTimeout(() => this.child.kill("SIGKILL"), timeout);
    const exit = once(this.child, "exit");
    this.child.kill("SIGTERM");
    await exit;
    clearTimeout(overdue);
  }
}
