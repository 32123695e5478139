// The shell blocks of README.md and docs/provisioning.md, run as they are printed, in their order, on a new server.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { freePort } from "./support/ports.js";

/** The blocks of a document, with the heading that each is below. */
function blocksOf(path: string): Array<{ heading: string; block: string }> {
  const parts = readFileSync(path, "utf8").matchAll(/^#+ (.*)$|^```sh\n([\s\S]*?)^```$/gm);
  let heading = "";
  return [...parts].flatMap(([, title, block]) => {
    if (title !== undefined) heading = title;
    return block === undefined ? [] : [{ heading, block }];
  });
}

/** A shell to which blocks are given one after the other. Background programs remain until it is closed. */
class Terminal {
  output = "";
  readonly #shell: ChildProcess;
  readonly #ended: Promise<unknown>;
  #count = 0;

  constructor(
    private readonly directory: string,
    env: NodeJS.ProcessEnv,
  ) {
    this.#shell = spawn("bash", [], { env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    // When the last program has ended that writes to the terminal.
    this.#ended = once(this.#shell, "close");
    for (const stream of [this.#shell.stdout!, this.#shell.stderr!])
      stream.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    this.#shell.stdin!.write("set -eo pipefail\n");
  }

  /** Runs a block to its end, with what the user enters meanwhile. Returns what it printed. Throws if a command fails. */
  async run(block: string, entered = ""): Promise<string> {
    const path = join(this.directory, `block-${++this.#count}`);
    await writeFile(path, block);
    await writeFile(`${path}.input`, `${entered}\n`);
    const from = this.output.length;
    const end = `end of block ${this.#count}`;
    this.#shell.stdin!.write(`. ${path} < ${path}.input\necho "${end}"\n`);
    await this.prints(end, from);
    return this.output.slice(from);
  }

  /** Resolves when the shell, or a program in it, has printed a text. */
  async prints(text: string | RegExp, from = 0): Promise<void> {
    const isThere = () => (typeof text === "string" ? this.output.includes(text, from) : text.test(this.output));
    while (!isThere()) {
      const [hasEnded] = await Promise.race([
        this.#ended.then(() => [true]),
        once(this.#shell.stdout!, "data").then(() => [false]),
      ]);
      if (hasEnded && !isThere()) throw new Error(`The shell ended:\n${this.output.slice(from)}`);
    }
  }

  /** Ends the shell and all its programs. */
  async close(): Promise<void> {
    if (this.#shell.exitCode === null) process.kill(-this.#shell.pid!, "SIGTERM");
    await this.#ended;
  }
}

describe("the shell blocks of README.md and docs/provisioning.md", function () {
  this.timeout(180_000);
  const terminals: Terminal[] = [];
  let directory: string;

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "quick-start-")));
    await chmod(directory, 0o755);
    // Failed requests are failures of their commands.
    await writeFile(join(directory, ".curlrc"), "fail-with-body\n");
  });
  after(async () => {
    for (const terminal of terminals.toReversed()) await terminal.close();
    for (const name of ["provisioner.log", "agent.log"]) await rm(name, { force: true });
    await rm(directory, { recursive: true, maxRetries: 5 });
  });

  it("work as they are printed, one after the other, on a new server", async () => {
    const port = String(await freePort("127.0.0.1"));
    const data = join(directory, "data");
    const env = {
      PATH: process.env.PATH,
      HOME: directory,
      STEWARD_PORT: port,
      STEWARD_DATA_DIR: data,
      STEWARD_PROVISIONER_DIR: join(data, "provisioner"),
      STEWARD_LOG_LEVEL: "warn",
    };
    const open = () => {
      const terminal = new Terminal(directory, env);
      terminals.push(terminal);
      return terminal;
    };
    const [start, ...rest] = blocksOf("README.md");
    expect(start!.block).to.equal("npm start\n");
    const server = open();
    void server.run(start!.block).catch(() => {});
    await server.prints(/ Password +\S+ /);
    const password = / Password +(\S+) /.exec(server.output)![1];

    const terminal = open();
    const streams = () => subscriptions(port);
    const printed: Record<string, string> = {};
    for (const { heading, block } of [...rest, ...blocksOf("docs/provisioning.md")]) {
      // It starts a server of its own and runs until it is stopped: examples.test.ts runs it.
      if (block === "npm run demo\n") continue;
      const before = await streams();
      const from = terminal.output.length;
      const output = await terminal.run(block, password);
      expect(output, block).not.to.contain('"errors":');
      printed[heading] = (printed[heading] ?? "") + output;
      if (block.includes("/inbox/watch")) while ((await streams()) === before);
      if (block.includes("/custom")) await terminal.prints('"content":"Version 7 is out."', from);
    }
    const expected: Record<string, string[]> = {
      "1. Sign in": ["Signed in."],
      "2. Use the REST API": ['"name":"operators"', '"name":"Everyone"'],
      "3. Use the GraphQL API": ['"totalCount":2'],
      "4. Watch live updates": [],
      "5. Run a provisioner daemon": ['"status":"SUCCEEDED"'],
      "6. Give an AI agent a task": [
        '"status":"active"',
        "small echo: Add a test",
        '"status":"paused"',
        '"snapshot":true',
      ],
      "1. Create a workspace": ['"createWorkspace":{'],
      "2. See it run": ['"status":"CONNECTED"', '"health":"HEALTHY"', "large echo: Hello"],
      "3. Stop it": ['"status":"STOPPED"'],
      "External agents": ["init-script/linux/amd64", "Running as agent main of admin/machine."],
    };
    expect(printed).to.have.all.keys(Object.keys(expected));
    for (const [heading, texts] of Object.entries(expected))
      for (const text of texts) expect(printed[heading], heading).to.contain(text);
  });
});

/** The number of subscriptions of the server to internal events. */
async function subscriptions(port: string): Promise<string | undefined> {
  const response = await fetch(`http://localhost:${port}/metrics`);
  return /^steward_event_subscriptions (.*)$/m.exec(await response.text())?.[1];
}
