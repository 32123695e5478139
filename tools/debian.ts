// Programs of Debian, unpacked from their packages without being installed: the same versions on every machine.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { unpack } from "../deploy/patroni/try/debian.mjs";
import type { Account } from "../src/infrastructure/embedded-postgres/account.js";

type Release = "bookworm" | "trixie";
type Running = ChildProcessByStdio<null, Readable, Readable>;

/** A program and the libraries that it needs, by the release of Debian. */
export interface Packages {
  readonly release: Release;
  readonly names: readonly string[];
}

/** Programs that end with this process at the latest. */
const running = new Set<Running>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Unpacked packages. */
export class Unpacked {
  private constructor(readonly directory: string) {}

  /** Rejects with the reason if the packages cannot be had, as on machines whose packages come from elsewhere. */
  static async from({ release, names }: Packages): Promise<Unpacked> {
    const directory = await mkdtemp(join(tmpdir(), "steward-debian-"));
    try {
      // Other accounts run the programs.
      chmodSync(directory, 0o755);
      await unpack(release, names, directory);
      return new Unpacked(directory);
    } catch (error) {
      rmSync(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Starts a program by its path in the packages, with the libraries of its release. Resolves when it has written `ready` to
   * standard error.
   */
  async start(
    program: string,
    words: string[],
    { ready, account }: { ready: string; account?: Account },
  ): Promise<Program> {
    const folders = ["lib", "usr/lib"].flatMap((name) => this.#architectures(name));
    const loader = folders.flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
    const own = loader.find((path) => /\/ld-linux-[^/]*$/.test(path));
    if (!own) throw new Error(`The packages in ${this.directory} have no loader.`);
    const child = spawn(own, ["--library-path", folders.join(":"), join(this.directory, program), ...words], {
      ...account,
      cwd: this.directory,
      stdio: ["ignore", "pipe", "pipe"],
    });
    running.add(child);
    child.once("exit", () => running.delete(child));
    let output = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes(ready)) resolve();
      });
      child.once("exit", () => reject(new Error(output)));
    });
    return new Program(child);
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }

  #architectures(name: string): string[] {
    const folder = join(this.directory, name);
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter((each) => each.includes("-linux-gnu"))
      .map((each) => join(folder, each));
  }
}

/** A program that runs. */
export class Program {
  constructor(private readonly child: Running) {}

  get pid(): number {
    return this.child.pid!;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await ended;
  }
}

/** In `before` of a `describe`: unpacks packages, or skips the tests, saying why. */
export async function unpackOrSkip(test: { skip(): never }, packages: Packages): Promise<Unpacked> {
  try {
    return await Unpacked.from(packages);
  } catch (error) {
    const [reason] = (error as Error).message.trim().split("\n").slice(-1);
    console.warn(`Skipped, since ${packages.names[0]} of Debian ${packages.release} cannot be had: ${reason}`);
    return test.skip();
  }
}
