import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ProcessCpu } from "./cpu.js";

/** Memory of a server process. */
export interface Usage {
  /** Resident memory in bytes. */
  rss: number;
}

/** A program that prints the URL it listens on. */
export interface Program {
  /** Its main file, relative to `bench/`. */
  script: string;
  /** Options of Node. */
  options?: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** Milliseconds in which a server must print its URL, and in which it must end. */
const timeout = 60_000;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** A server in a process of its own, with the probe in it. End it with `await using`. */
export class ServerProcess implements AsyncDisposable {
  /** The end of its output. */
  #output = "";
  #url: URL | undefined;
  #exited = false;
  readonly #cpu: ProcessCpu;

  private constructor(
    private readonly child: ChildProcess,
    private readonly script: string,
  ) {
    this.#cpu = new ProcessCpu(child.pid!);
    child.once("exit", () => (this.#exited = true));
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding("utf8").on("data", (text) => this.#hear(text));
  }

  /** Resolves when the server has said where it listens. */
  static async start({ script, options = [], env }: Program): Promise<ServerProcess> {
    const loader = script.endsWith(".ts") ? ["--import", here("../tools/ts-loader.mjs")] : [];
    const child = fork(here(script), {
      env: { PATH: process.env.PATH, NODE_ENV: "production", ...env },
      execArgv: [...loader, ...options, "--import", here("probe.mjs")],
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    const server = new ServerProcess(child, script);
    await server.#untilListening();
    return server;
  }

  /** The first loopback URL it printed. */
  get url(): URL {
    if (!this.#url) throw this.#failure("has printed no URL");
    return this.#url;
  }

  /** Its CPU time so far. */
  get cpu(): ProcessCpu {
    return this.#cpu;
  }

  usage(): Promise<Usage> {
    return this.#ask("usage");
  }

  /** The usage after a full garbage collection: memory that is held, not memory that waits to be collected. */
  usageCollected(): Promise<Usage> {
    return this.#ask("collect");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#exited) return;
    const exit = once(this.child, "exit");
    const overdue = setTimeout(() => this.child.kill("SIGKILL"), timeout);
    this.child.kill("SIGTERM");
    await exit;
    clearTimeout(overdue);
  }

  async #ask(question: string): Promise<Usage> {
    if (this.#exited) throw this.#failure("has ended");
    const reply = once(this.child, "message", { signal: AbortSignal.timeout(timeout) });
    this.child.send(question);
    const [usage] = (await reply) as [Usage];
    return usage;
  }

  #hear(text: string): void {
    this.#output = (this.#output + text).slice(-20_000);
    const [, port] = /http:\/\/(?:127\.0\.0\.1|localhost):(\d+)/.exec(this.#output) ?? [];
    if (port) this.#url ??= new URL(`http://127.0.0.1:${port}`);
  }

  async #untilListening(): Promise<void> {
    const deadline = performance.now() + timeout;
    while (!this.#url) {
      if (this.#exited || performance.now() > deadline) {
        await this[Symbol.asyncDispose]();
        throw this.#failure("did not start");
      }
      await sleep(1);
    }
  }

  #failure(what: string): Error {
    return new Error(`${this.script} ${what}. The end of its output:\n${this.#output}`);
  }
}
