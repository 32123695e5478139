// The starters of templates whose workspaces do tasks, as their users come to them: `templates init`, `templates push`, and
// tasks by the command line, with a daemon that starts programs.
import { chmod, copyFile, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { rolldown } from "rolldown";
import { UserCli } from "../support/cli.js";
import { type Program, spawnProgram } from "../support/process.js";
import { newKey } from "../support/provisioners.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

/** Milliseconds for what processes do. */
const timeout = 60_000;

describe("starters of templates for tasks", () => {
  const the = world();
  let directory: string;
  let daemon: Program;
  let cli: UserCli;

  /** Writes an executable that starts a program of Node. Returns its path. */
  async function executable(name: string, script: string): Promise<string> {
    const path = join(directory, name);
    await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
    await chmod(path, 0o755);
    return path;
  }

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "starters-")));
    await chmod(directory, 0o711);
    daemon = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user"], {
      STEWARD_URL: the().url,
      STEWARD_PROVISIONER_KEY: await newKey(the()),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    });
    cli = await UserCli.open({ STEWARD_URL: the().url, STEWARD_TOKEN: the().owner.token });
  });
  after(async () => {
    daemon.child.kill("SIGTERM");
    await daemon.ended;
    await cli.close();
    await rm(directory, { recursive: true });
  });

  /** Goes from a starter to a task that has responded, and deletes it. */
  async function use(starter: string, program: string, response: string): Promise<void> {
    const place = join(cli.directory, starter);
    const begun = await cli.run("templates", "init", place, "--starter", starter);
    expect(begun).to.include({ status: 0 });
    const values = join(place, "variables.json");
    expect(begun.stderr).to.include(`Set program in ${values}: Absolute path of the program`);
    const early = await cli.run("templates", "push", place);
    expect(early, "no value").to.include({ status: 1, stderr: "" });
    expect(early.stdout).to.include("program");
    await writeFile(values, JSON.stringify({ program }));
    await cli.output("templates", "push", place);

    await cli.output("tasks", "create", "Hello", "--template", starter, "--name", `by-${starter}`, "--no-wait");
    const logs = () => cli.run("tasks", "logs", `by-${starter}`);
    const waits = await logs();
    expect(waits.status).to.equal(0);
    expect(waits.stdout + waits.stderr, "says why there is nothing, if so").to.match(/Hello|Nothing has been said yet/);
    await eventually(async () => (await logs()).stdout.includes(response), `${starter}: ${daemon.output()}`, timeout);
    expect((await logs()).stdout).to.match(/^\[[^\]]+\] user: Hello$/m);
    // The program can respond before the agent has reported that it is well.
    const isActive = async () => (await cli.json("tasks", "show", `by-${starter}`)).status === "ACTIVE";
    await eventually(isActive, "the task is active", timeout);
    await cli.output("tasks", "delete", `by-${starter}`, "--yes", "--during-build");
    await eventually(
      () => daemon.output().includes(`delete of ${the().owner.username}/by-${starter}) succeeded`),
      "the deletion",
      timeout,
    );
  }

  it("start a program that serves AgentAPI", async () => {
    const script = join(directory, "chat.mjs");
    await copyFile("examples/agentapi-echo/chat.mjs", script);
    await use("agentapi", await executable("chat", script), "program: small echo: Hello");
  });

  it("start a program that speaks ACP", async () => {
    const script = join(directory, "acp.mjs");
    const bundled = await rolldown({ input: "test/support/acp-agent.mjs", platform: "node" });
    await bundled.write({ file: script, format: "esm", codeSplitting: false });
    await use("acp", await executable("acp", script), "program: You said: Hello");
  });
});
