// A NATS server, started from the packages of Debian.
import { once } from "node:events";
import { freePort } from "./ports.js";
import type { Packages, Running, Unpacked } from "./debian.js";

export const natsPackages: Packages = { release: "bookworm", names: ["nats-server", "libc6"] };

export class NatsServer {
  #child: Running | undefined;

  private constructor(
    private readonly program: Unpacked,
    private readonly port: number,
    private readonly words: string[],
  ) {}

  static async start(program: Unpacked, ...words: string[]): Promise<NatsServer> {
    const server = new NatsServer(program, await freePort("127.0.0.1"), words);
    await server.start();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const words = ["--addr", "127.0.0.1", "--port", String(this.port), ...this.words];
    const child = (this.#child = this.program.start("usr/sbin/nats-server", words));
    let output = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes("Server is ready")) resolve();
      });
      child.once("exit", () => reject(new Error(output)));
    });
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
}
