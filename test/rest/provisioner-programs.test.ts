// The provisioner and the agent as programs: what only a process can do, such as being killed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, chown, copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect } from "chai";
import { isRunning, node, obedientServer, readReport, server } from "../support/children.js";
import { type Conditions, type Program, spawnProgram } from "../support/process.js";
import { type StandInJob, standInWorkspace, StandInSteward } from "../support/stand-in-steward.js";

const isRoot = process.getuid?.() === 0;
const check = { url: "http://127.0.0.1:${port.web}/", interval: 1, threshold: 1 };
const web = { slug: "web", url: check.url, healthcheck: check };
const main = { name: "main", os: "linux", arch: "amd64" };
const template = (...agents: object[]) => ({
  schema: "steward.template/1",
  provisioner: "process",
  resources: [{ name: "box", agents }],
});

/** Resolves once the program has printed a text. */
async function prints(program: Program, text: string): Promise<void> {
  while (!program.output().includes(text)) {
    const ended = await Promise.race([
      new Promise<false>((resolve) => program.child.stdout!.once("data", () => resolve(false))),
      program.ended.then(() => true),
    ]);
    if (ended && !program.output().includes(text)) throw new Error(`The program ended: ${program.output()}`);
  }
}

let steward: StandInSteward;
let programs: Program[];
let directory: string;

beforeEach(async () => {
  steward = await StandInSteward.start();
  programs = [];
  directory = await realpath(await mkdtemp(join(tmpdir(), "programs-")));
  // The user of workspaces has to pass through it if the tests run as root.
  await chmod(directory, 0o711);
});
afterEach(async () => {
  for (const { child } of programs) child.kill("SIGKILL");
  await Promise.all(programs.map(({ ended }) => ended));
  await steward.stop();
  await rm(directory, { recursive: true });
});

function run(script: string, words: string[], settings: NodeJS.ProcessEnv, conditions?: Conditions): Program {
  const program = spawnProgram(script, words, settings, conditions);
  programs.push(program);
  return program;
}

describe("npm run provisioner", () => {
  const settings = () => ({
    STEWARD_URL: steward.url,
    STEWARD_PROVISIONER_KEY: steward.key,
    STEWARD_PROVISIONER_TYPES: "process,echo",
    STEWARD_PROVISIONER_DIR: join(directory, "data"),
  });
  const provisioner = (given: NodeJS.ProcessEnv = {}, words = ["--allow-root", "--allow-shared-user"]) =>
    run("dist/provisioner/main.js", words, { ...settings(), ...given });

  it("survives kill -9: the child lives on, and the next daemon adopts it and ends it", async () => {
    const workspace = standInWorkspace();
    const build = (transition: "START" | "DELETE", ...agents: object[]): Promise<StandInJob> =>
      steward.assign(template(...agents), { transition, workspace }).reaches("SUCCEEDED");
    const first = provisioner();
    const job = await build("START", { ...main, command: server(), apps: [web] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY") && agent.lifecycle.includes("READY"));
    first.child.kill("SIGKILL");
    await first.ended;

    const home = join(directory, "data", workspace.id, "home");
    const { pid, grandchild } = readReport(home);
    expect([pid, grandchild].map(isRunning)).to.deep.equal([true, true]);
    const beats = agent.inputsOf("agentHeartbeat").length;
    const second = provisioner();
    await agent.until(() => agent.inputsOf("agentHeartbeat").length > beats);
    await prints(second, "Continuing with agent main");
    expect([pid, grandchild].map(isRunning)).to.deep.equal([true, true]);
    expect(agent.lifecycle).to.deep.equal(["STARTING", "READY"]);

    await build("DELETE");
    expect([pid, grandchild].map(isRunning)).to.deep.equal([false, false]);
  });

  it("keeps the key from the processes of workspaces", async () => {
    const daemon = provisioner();
    const peek = `tr '\\0' '\\n' < /proc/$PPID/environ; tr '\\0' ' ' < /proc/self/cmdline; env; id -un`;
    const scripts = [{ display_name: "Peek", script: `(${peek}) 2>&1; echo peeked`, run_on_start: true }];
    const job = steward.assign(template({ ...main, command: obedientServer(), apps: [web], scripts }), {
      transition: "START",
    });
    await job.reaches("SUCCEEDED");
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY") && agent.lines.includes("peeked"));
    const { id } = job.assignment.workspace as { id: string };
    const { env, argv, pid } = readReport(join(directory, "data", id, "home"));
    expect(JSON.stringify([env, argv])).not.to.contain(steward.key);
    if (process.platform === "linux")
      for (const name of ["environ", "cmdline"])
        expect(readFileSync(`/proc/${pid}/${name}`, "utf8")).not.to.contain(steward.key);
    const user = isRoot ? "nobody" : userInfo().username;
    expect(agent.lines).to.include(user);
    // Programs of the daemon's own user could read its environment, which it says when it starts.
    if (isRoot) expect(agent.lines.join("\n")).not.to.contain(steward.key);
    else expect(daemon.output()).to.contain("including the environment of this daemon with its key");
    expect(daemon.output()).not.to.contain(steward.key);
    const deletion = { transition: "DELETE" as const, workspace: job.assignment.workspace as never };
    await steward.assign(template(), deletion).reaches("SUCCEEDED");
  });

  it("finishes the jobs in progress on SIGTERM, and exits with 0", async () => {
    const daemon = provisioner();
    const job = steward.assign(template({ ...main, command: node("setInterval(() => {}, 1000)") }), {
      transition: "START",
    });
    await job.until(() => job.logs.length);
    daemon.child.kill("SIGTERM");
    await job.reaches("SUCCEEDED");
    expect(await daemon.ended).to.equal(0);
    const { id } = job.assignment.workspace as { id: string };
    const state = await readFile(join(directory, "data", id, "state.json"), "utf8");
    const { agents } = JSON.parse(state) as { agents: Array<{ processes: { command: { pid: number } } }> };
    const { pid } = agents[0]!.processes.command;
    expect(isRunning(pid)).to.equal(true);
    process.kill(pid, "SIGKILL");
  });

  it("exits with 1 and advice if its key is rejected", async () => {
    const daemon = provisioner({ STEWARD_PROVISIONER_KEY: "stwk_wrong" });
    expect(await daemon.ended).to.equal(1);
    expect(daemon.stderr()).to.contain("createProvisionerKey").and.not.contain("stwk_wrong");
  });

  it("does not share its directory with another daemon", async () => {
    const first = provisioner();
    await prints(first, "Connected.");
    const second = provisioner({ STEWARD_PROVISIONER_NAME: "second" });
    expect(await second.ended).to.equal(1);
    expect(second.stderr()).to.contain("STEWARD_PROVISIONER_DIR");
  });

  it("reports all invalid settings together", async () => {
    const invalid = {
      STEWARD_URL: "localhost",
      STEWARD_PROVISIONER_KEY: "",
      STEWARD_PROVISIONER_KEY_FILE: "/missing",
      STEWARD_PROVISIONER_TYPES: "docker",
      STEWARD_PROVISIONER_SLOTS: "0",
    };
    const daemon = provisioner(invalid);
    expect(await daemon.ended).to.equal(1);
    const names = [...daemon.stderr().matchAll(/^ {2}(STEWARD_\w+) /gm)].map(([, name]) => name);
    expect(names).to.have.members(Object.keys(invalid).filter((name) => name !== "STEWARD_PROVISIONER_KEY"));
  });

  it("rejects tags together with a key, which has its own", async () => {
    const daemon = provisioner({ STEWARD_PROVISIONER_TAGS: "a=1" });
    expect(await daemon.ended).to.equal(1);
    expect(daemon.stderr()).to.contain("STEWARD_PROVISIONER_TAGS");
  });

  it("does not run programs as root by accident, nor where their user cannot go", async function () {
    if (!isRoot) this.skip();
    const careless = provisioner({}, []);
    expect(await careless.ended).to.equal(1);
    expect(careless.stderr()).to.contain("--allow-root");
    await chmod(directory, 0o700);
    const closed = provisioner();
    expect(await closed.ended).to.equal(1);
    expect(closed.stderr()).to.contain("cannot enter");
    const echo = provisioner({ STEWARD_PROVISIONER_TYPES: "echo" }, []);
    await prints(echo, "Connected.");
  });

  describe("without permission to share its user", () => {
    before(function () {
      // The tests run as the user of their own Postgres otherwise.
      if (!isRoot) this.skip();
    });

    /** A user for workspaces, which no other test runs programs as: the setting, and its IDs. */
    function asUser(name: string) {
      const [, , uid, gid] = spawnSync("getent", ["passwd", name], { encoding: "utf8" }).stdout.split(":");
      return { account: { uid: Number(uid), gid: Number(gid) }, settings: { STEWARD_PROVISIONER_USER: name } };
    }

    it("does not run programs as the user that owns the keys or the database of a server", async () => {
      const { account, settings: user } = asUser("sys");
      const { uid, gid } = account;
      const data = join(directory, "server");
      await mkdir(join(data, "postgres", "18"), { recursive: true });
      const own = { STEWARD_PROVISIONER_DIR: join(directory, "own"), HOME: join(directory, "own") };
      await mkdir(own.HOME);
      await chown(own.HOME, uid, gid);
      for (const path of ["encryption.keys", "postgres/18"].map((name) => join(data, name))) {
        if (path.endsWith("keys")) await writeFile(path, "");
        await chown(path, uid, gid);
        const refusals = [
          provisioner({ ...user, STEWARD_DATA_DIR: data }, ["--allow-root"]),
          run("dist/provisioner/main.js", [], { ...settings(), STEWARD_DATA_DIR: data, ...own }, { account }),
        ];
        for (const refused of refusals) {
          expect(await refused.ended).to.equal(1);
          expect(refused.stderr())
            .to.contain(`owns the data of a Steward server, ${path}`)
            .and.contain("--allow-shared");
        }
        await rm(path, { recursive: true });
      }
      await prints(provisioner({ ...user, STEWARD_DATA_DIR: data }, ["--allow-root"]), "Connected.");
    });

    it("does not run programs as the user that runs the built-in Postgres of a server, wherever that is", async function () {
      if (process.platform !== "linux") this.skip();
      const { account, settings: user } = asUser("games");
      const cluster = join(directory, "elsewhere");
      await mkdir(cluster);
      await chown(cluster, account.uid, account.gid);
      const words = ["--import", "./tools/ts-loader.mjs", "test/support/cluster-owner.ts", cluster];
      const postgres = spawn(process.execPath, words, {
        ...account,
        stdio: ["pipe", "pipe", "inherit"],
      });
      try {
        const [line] = (await once(createInterface(postgres.stdout), "line")) as [string];
        expect(JSON.parse(line)).to.have.property("url");
        const refused = provisioner(user, ["--allow-root"]);
        expect(await refused.ended).to.equal(1);
        expect(refused.stderr()).to.contain(`owns the data of a Steward server, ${cluster}`);
        await prints(provisioner(user), "Connected.");
      } finally {
        postgres.stdin.end();
        await once(postgres, "exit");
      }
    });

    it("does not run programs as the user that runs the workspaces of another daemon, running or stopped", async () => {
      const { settings: user } = asUser("bin");
      const elsewhere = {
        ...user,
        STEWARD_PROVISIONER_DIR: join(directory, "other"),
        STEWARD_PROVISIONER_NAME: "other",
      };
      const refusal = async () => {
        const refused = provisioner(elsewhere, ["--allow-root"]);
        expect(await refused.ended).to.equal(1);
        return refused.stderr();
      };
      const first = provisioner(user, ["--allow-root"]);
      await prints(first, "Connected.");
      expect(await refusal()).to.contain(`runs the workspaces of another daemon, in ${join(directory, "data")}`);

      const workspace = standInWorkspace();
      const build = (transition: "START" | "STOP" | "DELETE") =>
        steward
          .assign(template({ ...main, command: obedientServer() }), { transition, workspace })
          .reaches("SUCCEEDED");
      await build("START");
      await build("STOP");
      first.child.kill("SIGKILL");
      await first.ended;
      expect(await refusal()).to.contain("runs the workspaces of another daemon");

      const second = provisioner(user, ["--allow-root"]);
      await build("DELETE");
      second.child.kill("SIGTERM");
      await second.ended;
      await prints(provisioner(elsewhere, ["--allow-root"]), "Connected.");
    });
  });

  it("runs as a user without a name, as in a container, beside data of a server that it may not read", async function () {
    if (!isRoot) this.skip();
    const account = { uid: 61_100, gid: 61_100 };
    const data = join(directory, "data");
    await mkdir(data);
    await chown(data, account.uid, account.gid);
    // As that of a server in the same clone, started by root.
    const closed = { STEWARD_DATA_DIR: join(directory, "server") };
    await mkdir(join(closed.STEWARD_DATA_DIR, "postgres", "18"), { recursive: true });
    await chmod(closed.STEWARD_DATA_DIR, 0o700);
    const daemon = run("dist/provisioner/main.js", [], { ...settings(), ...closed }, { account });
    await prints(daemon, "Connected.");
    expect(daemon.output()).to.contain(`Workspaces run as the user of this daemon, ${account.uid}.`);
  });

  it("explains its settings within 80 columns", async () => {
    for (const script of ["dist/provisioner/main.js", "dist/agent.mjs"]) {
      const help = run(script, ["--help"], {});
      expect(await help.ended).to.equal(0);
      const lines = help.stdout().split("\n");
      expect(lines.filter((line) => line.length > 80)).to.deep.equal([]);
      expect(help.stdout()).to.contain("STEWARD_URL").and.contain("Required.");
      const unknown = run(script, ["--halp"], {});
      expect(await unknown.ended).to.equal(2);
      expect(unknown.stderr()).to.match(/^Unknown option "--halp".*--help/);
      const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
      const its = run(script, ["--version"], {});
      // The agent is a single file, which has no note of its commit.
      const commit = script === "dist/agent.mjs" ? "" : "( \\([^)]+\\))?";
      expect(await its.ended).to.equal(0);
      expect(its.stdout()).to.match(new RegExp(`^${version.replaceAll(".", "\\.")}${commit}\n$`));
    }
  });
});

describe("npm run agent", () => {
  /** Makes an external agent, and returns it with the settings of its program. */
  async function external(agent: object) {
    const document = { ...template({ ...main, external: true, ...agent }), provisioner: "echo" };
    const job = steward.assign(document, { transition: "START" });
    const daemon = run("dist/provisioner/main.js", [], {
      STEWARD_URL: steward.url,
      STEWARD_PROVISIONER_KEY: steward.key,
    });
    await job.reaches("SUCCEEDED");
    daemon.child.kill("SIGTERM");
    const made = steward.agentOf(job, "main");
    return { agent: made, settings: { STEWARD_URL: steward.url, STEWARD_AGENT_TOKEN: made.token, HOME: directory } };
  }
  const command = node('console.log("working"); setInterval(() => {}, 1000)');

  it("runs an external agent until it must shut down, as a single file without packages", async () => {
    const scripts = [{ display_name: "Bye", script: "echo bye", run_on_stop: true }];
    const { agent, settings } = await external({ command, scripts });
    const file = join(directory, "agent.mjs");
    await copyFile("dist/agent.mjs", file);
    const program = run(file, [], settings);
    await agent.until(() => agent.lifecycle.includes("READY") && agent.lines.includes("working"));
    expect(program.output()).to.contain("Running as agent main of alice/box.").and.not.contain(agent.token);
    agent.shutdown = true;
    expect(await program.ended).to.equal(0);
    expect(agent.lifecycle).to.deep.equal(["STARTING", "READY", "SHUTTING_DOWN", "OFF"]);
    expect(agent.lines).to.include("bye");
    expect(agent.inputsOf("disconnectAgent")).to.have.length(1);
  });

  it("ends its command when it is told to stop", async () => {
    const { agent, settings } = await external({
      command: node("console.log(process.pid); setInterval(() => {}, 1000)"),
    });
    const program = run("dist/agent.mjs", [], settings);
    await agent.until(() => agent.lines.length);
    const pid = Number(agent.lines[0]);
    expect(isRunning(pid)).to.equal(true);
    program.child.kill("SIGTERM");
    expect(await program.ended).to.equal(0);
    expect(isRunning(pid)).to.equal(false);
  });

  it("runs without a command, and waits for a server that is not there yet", async () => {
    const { agent, settings } = await external({});
    steward.isDown = true;
    const program = run("dist/agent.mjs", [], settings);
    await steward.until(() => steward.turnedAway);
    steward.isDown = false;
    await agent.until(() => agent.lifecycle.includes("READY"));
    program.child.kill("SIGTERM");
    expect(await program.ended).to.equal(0);
  });

  it("runs the stop scripts and ends if its token ends, as it does when the workspace has been stopped", async () => {
    const scripts = [{ display_name: "Bye", script: 'echo bye > "$HOME/bye"', run_on_stop: true }];
    const { agent, settings } = await external({ command, scripts });
    const program = run("dist/agent.mjs", [], settings);
    await agent.until(() => agent.lifecycle.includes("READY"));
    agent.isValid = false;
    expect(await program.ended).to.equal(0);
    expect(await readFile(join(directory, "bye"), "utf8")).to.equal("bye\n");
  });

  it("exits with 1 if its token is not valid", async () => {
    const { agent, settings } = await external({});
    agent.isValid = false;
    const program = run("dist/agent.mjs", [], settings);
    expect(await program.ended).to.equal(1);
    expect(program.stderr()).to.contain("does not accept the agent's token").and.not.contain(agent.token);
  });
});
