// A NATS server, started from the packages of Debian.
import { freePort } from "../src/runtime/ports.js";
import type { Packages, Program, Unpacked } from "./debian.js";

export const natsPackages: Packages = { release: "bookworm", names: ["nats-server", "libc6"] };

export class NatsServer {
  #running: Program | undefined;

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

  /** Its process, while it runs. */
  get pid(): number {
    return this.#running!.pid;
  }

  async start(): Promise<void> {
    const words = ["--addr", "127.0.0.1", "--port", String(this.port), ...this.words];
    this.#running = await this.program.start("usr/sbin/nats-server", words, { ready: "Server is ready" });
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
  }
}
