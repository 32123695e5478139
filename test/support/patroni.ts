// The highly available Postgres of `deploy/patroni`, started and broken by its script.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

/** A node as the script lists it. */
export interface Node {
  name: string;
  role: "leader" | "sync_standby" | "replica";
  state: string;
  lag: string | undefined;
}

const script = new URL("../../deploy/patroni/try.mjs", import.meta.url).pathname;

export class Patroni {
  /** All that it has printed. */
  output = "";
  readonly #ended: Promise<unknown>;
  /** Look at what was printed, and resolve. */
  readonly #waiting = new Set<() => void>();

  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, Readable>) {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
        for (const look of this.#waiting) look();
      });
    this.#ended = once(child, "close");
    void this.#ended.then(() => {
      for (const look of this.#waiting) look();
    });
  }

  /** Starts it. Resolves with the reason if the packages of Debian cannot be had. `ttl` is in seconds. */
  static async start(ttl: number): Promise<Patroni | string> {
    const words = [script, "--port", "0", "--ttl", String(ttl)];
    const patroni = new Patroni(spawn(process.execPath, words, { stdio: ["pipe", "pipe", "pipe"] }));
    await patroni.#says(/^Commands:|^All programs have ended/m);
    if (patroni.child.exitCode === null && patroni.output.includes("STEWARD_DATABASE_URL")) return patroni;
    await patroni.#ended;
    if (patroni.output.includes("The packages are unpacked")) throw new Error(patroni.output);
    return patroni.output.trim().split("\n").at(-2)!;
  }

  get url(): string {
    return /STEWARD_DATABASE_URL=(\S+)/.exec(this.output)![1]!;
  }

  /** Runs a command. Rejects if it fails. Returns what it prints. */
  async run(command: string): Promise<string> {
    const start = this.output.length;
    this.child.stdin.write(`${command}\n`);
    await this.#says(/^(?:Done|Failed): /m, start);
    const printed = this.output.slice(start);
    if (/^Failed: /m.test(printed)) throw new Error(printed);
    return printed;
  }

  async nodes(): Promise<Node[]> {
    const lines = (await this.run("status")).matchAll(
      /^(node\d) {2}(\S+) {2}(.+?) {2}timeline \S+(?: {2}lag (\S+))?$/gm,
    );
    return [...lines].map(([, name, role, state, lag]) => ({ name, role, state, lag }) as Node);
  }

  /** The name of the leader, if there is one. */
  async leader(): Promise<string | undefined> {
    return (await this.nodes()).find(({ role }) => role === "leader")?.name;
  }

  /** Ends it as Ctrl-C does. Returns its exit status. */
  async close(): Promise<number | null> {
    this.child.kill("SIGINT");
    await this.#ended;
    return this.child.exitCode;
  }

  /** Waits until it has printed `words` behind `start`. */
  #says(words: RegExp, start = 0): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const isThere = words.test(this.output.slice(start));
        if (!isThere && this.child.exitCode === null) return;
        this.#waiting.delete(look);
        if (isThere) resolve();
        else reject(new Error(`It has ended: ${this.output}`));
      };
      this.#waiting.add(look);
      look();
    });
  }
}
