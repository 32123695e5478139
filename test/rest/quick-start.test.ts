// The shell blocks of docs/tour.md, docs/cli.md, and docs/provisioning.md, run as they are printed, in their order, on a new
// server. They end where the documents say.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { freePort } from "../support/ports.js";
import { eventually, slowness } from "../support/watchers.js";
import { Client } from "../support/world.js";

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
  /** The longest time in milliseconds between two outputs, or before the first one. */
  silence = 0;
  #heard = performance.now();
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
      stream.on("data", (chunk: Buffer) => {
        this.output += chunk.toString();
        this.silence = Math.max(this.silence, performance.now() - this.#heard);
        this.#heard = performance.now();
      });
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

describe("the shell blocks of docs/tour.md, docs/cli.md, and docs/provisioning.md", function () {
  this.timeout(300_000);
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
    const open = (more: NodeJS.ProcessEnv = {}) => {
      const terminal = new Terminal(directory, { ...env, ...more });
      terminals.push(terminal);
      return terminal;
    };
    const [start, ...rest] = blocksOf("docs/tour.md");
    expect(start!.block).to.equal("npm start\n");
    // The demonstration, which runs until it is stopped, is run by examples.test.ts.
    expect(blocksOf("README.md").map(({ block }) => block)).to.deep.equal(["npm run demo\n", start!.block]);
    // As for someone who sees it for the first time: with the usual log, and nothing in the data directory.
    const server = open({ STEWARD_LOG_LEVEL: "info" });
    void server.run(start!.block).catch(() => {});
    await server.prints(/ Password +\S+ /);
    // For people, although no terminal reads it: the console comes first.
    expect(server.output).to.match(/ is running at (\S+)\n\n +Console +\1\n +Email /);
    expect(server.silence, "milliseconds without output during the start").to.be.below(3_000 * slowness());
    const password = / Password +(\S+) /.exec(server.output)![1];

    const terminal = open();
    const streams = () => subscriptions(port);
    const printed: Record<string, string> = {};
    let owner: Client | undefined;
    const documents = [...rest, ...blocksOf("docs/cli.md"), ...blocksOf("docs/provisioning.md")];
    for (const [nr, { heading, block }] of documents.entries()) {
      const before = await streams();
      const from = terminal.output.length;
      const running = terminal.run(block, password);
      if (block.includes("steward login")) await allow(owner!, terminal, from);
      const output = await running;
      owner ??= await signedIn(port, password!);
      expect(output, block).not.to.contain('"errors":');
      printed[heading] = (printed[heading] ?? "") + output;
      if (block.includes("/inbox/watch")) while ((await streams()) === before);
      if (block.includes("/custom")) await terminal.prints('"content":"Version 7 is out."', from);
      if (documents[nr + 1]?.heading !== heading) await ends[heading]?.(owner, data);
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
        "echo: Add a test",
      ],
      "Command line": [],
      "Sign in": ["Signed in to http://localhost:", "admin@steward.local"],
      Workspaces: [
        "chat\tmain\tv1\ttasks",
        "Parameter model\t",
        "Workspace admin/second is running.",
        "Parameter model\tlarge",
        "Workspace admin/second is deleted.",
      ],
      Tasks: [
        "Task admin/bug is active.",
        "echo: Add a test",
        "Task admin/bug is paused.",
        "Status\tactive",
        "Task admin/bug is deleted.",
      ],
      Secrets: ["Secret example is created.", "example\tEXAMPLE_PASSWORD", "Secret example is deleted."],
      "The inbox": ["All notifications are read."],
      "For programs": ["admin\n"],
      "Sign out": ["Signed out of http://localhost:"],
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

async function signedIn(port: string, password: string): Promise<Client> {
  const url = `http://localhost:${port}`;
  const { body } = await new Client(url).post("/api/v2/users/login", { email: "admin@steward.local", password });
  return new Client(url, body.session_token);
}

/** Allows the login that a terminal waits for, as its user does in a browser. */
async function allow(owner: Client, terminal: Terminal, from: number): Promise<void> {
  const code = /^ {4}([A-Z]{4}-[A-Z]{4})$/m;
  await terminal.prints(code, from);
  await owner.graphql("mutation($code: String!) { approveOAuth2Device(input: { userCode: $code }) { __typename } }", {
    code: code.exec(terminal.output.slice(from))![1],
  });
}

/** Where a chapter ends, by its heading: what is there afterwards, and what is not. */
const ends: Record<string, (owner: Client, data: string) => Promise<void>> = {
  "6. Give an AI agent a task": async (owner) => {
    expect((await owner.get("/api/v2/tasks/me/demo")).status).to.equal(404);
    await isGone(owner, "demo");
    await eventually(() => programs() === 0, "the end of the program", 30_000);
  },
  "3. Stop it": async (owner, data) => {
    expect(programs()).to.equal(0);
    const { workspaceByName } = await owner.graphql('{ workspaceByName(owner: "me", name: "first") { id status } }');
    expect(workspaceByName.status).to.equal("STOPPED");
    expect(await readdir(join(data, "provisioner", workspaceByName.id))).to.include("home");
  },
  Tasks: (owner) => isGone(owner, "bug"),
};

const isGone = (owner: Client, name: string) =>
  eventually(
    async () =>
      (await owner.failure(`{ workspaceByName(owner: "me", name: "${name}") { id } }`).catch(() => undefined))?.code ===
      "NOT_FOUND",
    `the deletion of the workspace ${name}`,
    30_000,
  );

/** The number of processes of the example program of this clone. */
const programs = (): number =>
  execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(join(process.cwd(), "examples/agentapi-echo/chat.mjs"))).length;

/** The number of subscriptions of the server to internal events. */
async function subscriptions(port: string): Promise<string | undefined> {
  const response = await fetch(`http://localhost:${port}/metrics`);
  return /^steward_event_subscriptions (.*)$/m.exec(await response.text())?.[1];
}
