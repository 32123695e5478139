// The demonstration as a process.
import { expect } from "chai";
import { Client as DemoClient } from "../../examples/demo/client.js";
import { emailOf } from "../../examples/demo/company.js";
import { type Program, spawnProgram } from "./process.js";

/** Runs the demonstration with few days of history, and waits until it has printed how to sign in. */
export class DemoRun {
  /** The longest time without output, in milliseconds. */
  longestSilence = 0;

  /** Resolves when it has printed how to sign in; rejects if it ends before. */
  readonly #ready: Promise<void>;

  private constructor(readonly program: Program) {
    let last = Date.now();
    this.#ready = new Promise((resolve, reject) => {
      const hear = () => {
        this.longestSilence = Math.max(this.longestSilence, Date.now() - last);
        last = Date.now();
        if (program.output().includes("End: Ctrl-C")) resolve();
      };
      for (const stream of [program.child.stdout!, program.child.stderr!]) stream.on("data", hear);
      void program.ended.then(() => reject(new Error(`The demonstration ended: ${program.output()}`)));
    });
  }

  static async start(directory: string, port: number, days = 3, ...words: string[]): Promise<DemoRun> {
    const settings = { STEWARD_DEMO_DIR: directory, STEWARD_DEMO_PORT: String(port), STEWARD_DEMO_DAYS: String(days) };
    // Those of other servers have no effect.
    const others = {
      STEWARD_PORT: "1",
      STEWARD_DATABASE_URL: "postgres://127.0.0.1:9/none",
      STEWARD_DATA_DIR: "/none",
    };
    const run = new DemoRun(spawnProgram("dist/demo.mjs", words, { ...others, ...settings }));
    await run.#ready;
    return run;
  }

  find = (pattern: RegExp): string => pattern.exec(this.program.output())![1]!;
  url = () => this.find(/is at (http:\/\/localhost:\d+)/);
  door = () => this.find(/(http:\/\/localhost:\d+\/open\/\S+)/);
  passwordOf = (username: string) => this.find(new RegExp(`${username}@larkspur\\.example +(\\S+)`));

  /** Signs in as one of the printed accounts. */
  async as(username: string): Promise<DemoClient> {
    const client = new DemoClient(this.url());
    const input = { email: emailOf({ username }), password: this.passwordOf(username) };
    return client.as((await client.mutate("login", input, "sessionToken")).sessionToken as string);
  }

  async stop(): Promise<void> {
    this.program.child.kill("SIGTERM");
    expect(await this.program.ended).to.equal(0);
  }
}
