// The provisioner type `process` with real processes, against a server that follows the protocol.
// Looks inside: the parts of the daemon meet faults of a server that a real one does not have.
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { link, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { cpus, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Daemon } from "../../../clients/daemon/daemon.js";
import { pace } from "../../../clients/agent/pace.js";
import { Cgroups } from "../../../clients/daemon/process/cgroups.js";
import { Folder } from "../../../clients/daemon/process/folder.js";
import { ProcessWorker } from "../../../clients/daemon/process/worker.js";
import { finalClosing, WebSocketTransport } from "../../../clients/daemon/web-socket.js";
import { isRunning, node, readReport, server } from "../../support/children.js";
import { type StandInJob, standInWorkspace, StandInSteward } from "../../support/stand-in-steward.js";
import { eventually } from "../../support/watchers.js";

const quick = {
  ...pace,
  reconnect: 20,
  retry: 20,
  logBatch: 5,
  heartbeat: 50,
  resources: 50,
  output: 30,
  settle: 400,
  restart: 100,
  kill: 300,
  pipes: 300,
  poll: 30,
};

const check = { url: "http://${host.address}:${port.web}/status", interval: 1, threshold: 1 };
const web = { slug: "web", url: "http://${host.address}:${port.web}", healthcheck: check };
/** An app that is unhealthy only while its command is down, however slow the machine is. */
const patient = { ...web, healthcheck: { ...check, threshold: 60 } };
const main = { name: "main", os: "linux", arch: "amd64" };
const template = (...agents: object[]) => ({
  schema: "steward.template/1",
  provisioner: "process",
  resources: [{ name: "box", agents }],
});
const idle = node("setInterval(() => {}, 1000)");

describe("the process provisioner", () => {
  let steward: StandInSteward;
  let stop: AbortController;
  let running: Promise<void>;
  let directory: string;
  let workspace: ReturnType<typeof standInWorkspace>;

  beforeEach(async () => {
    steward = await StandInSteward.start();
    directory = await realpath(await mkdtemp(join(tmpdir(), "provisioner-")));
    workspace = standInWorkspace("box");
    await serve();
  });
  afterEach(async () => {
    const last = build("DELETE", template());
    await last.reaches("SUCCEEDED");
    stop.abort();
    await running;
    await steward.stop();
    await rm(directory, { recursive: true });
  });

  /** Runs a daemon that waits so many milliseconds for commands that fail early. */
  async function settleIn(settle: number) {
    stop.abort();
    await running;
    await serve({ settle });
  }

  /** Runs a daemon in this process. */
  async function serve(changes: Partial<typeof quick> = {}) {
    stop = new AbortController();
    const introduction = { url: steward.url, organization: "default", name: "d", types: ["process"], tags: [] };
    const transport = new WebSocketTransport({ ...introduction, key: steward.key });
    const log = () => {};
    const folder = await Folder.open(directory);
    const cgroups = Cgroups.open(directory, join(directory, "none"));
    const site = { url: steward.url, folder, cgroups, user: userInfo().username, log, pace: { ...quick, ...changes } };
    const worker = new ProcessWorker(site, "127.0.0.1");
    const daemon = new Daemon({ transport, workers: [worker], slots: 4, log, pace: quick, finalClosing });
    await worker.adopt(daemon.execute);
    running = daemon.run(stop.signal);
  }

  const build = (transition: "START" | "STOP" | "DELETE", document: Record<string, unknown>, given = {}): StandInJob =>
    steward.assign(document, { transition, workspace, ...given });
  const start = (...agents: object[]) => build("START", template(...agents)).reaches("SUCCEEDED");
  const home = () => join(directory, workspace.id, "home");
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  it("starts a command with the documented environment, and pins the workspace", async () => {
    steward.secrets.env = [{ name: "API_KEY", value: "hidden" }];
    steward.secrets.files = [{ path: "~/.config/app/token", content: "file secret\n" }];
    const agent = {
      ...main,
      command: server(),
      apps: [web],
      env: { COLOR: "${param.color}", API_KEY: "from the template" },
    };
    const task = { id: workspace.id, prompt: "Fix it" };
    const parameters = [
      { name: "color", value: "red" },
      { name: "disk-size", value: "9" },
    ];
    const job = await build("START", template(agent), { parameters, task }).reaches("SUCCEEDED");
    const speaker = steward.agentOf(job, "main");
    await speaker.until(() => speaker.healthOf("web").includes("HEALTHY"));

    const { env, directory: cwd } = readReport(home());
    const inherited = ["PATH", "LANG", "TZ"].filter((name) => process.env[name] !== undefined);
    const { PATH } = process.env;
    expect(env).to.deep.include({
      PATH,
      HOME: home(),
      USER: userInfo().username,
      TMPDIR: join(directory, workspace.id, "tmp"),
      COLOR: "red",
      API_KEY: "hidden",
      STEWARD_URL: steward.url,
      STEWARD_AGENT_TOKEN: speaker.token,
      STEWARD_WORKSPACE_ID: workspace.id,
      STEWARD_WORKSPACE_NAME: "box",
      STEWARD_WORKSPACE_OWNER: "alice",
      STEWARD_AGENT_NAME: "main",
      STEWARD_TASK_ID: task.id,
      STEWARD_TASK_PROMPT: "Fix it",
      STEWARD_TASK_CONVERSATION: "",
      STEWARD_TASK_APP_TOKEN: "",
      STEWARD_PARAM_COLOR: "red",
      STEWARD_PARAM_DISK_SIZE: "9",
    });
    expect(Object.keys(env)).to.have.length(17 + inherited.length);
    expect(cwd).to.equal(home());
    expect(job.outcome).to.have.property("pin", true);
    const port = (job.outcome!.state as { ports: { web: number } }).ports.web;
    expect(job.resources![0]).to.have.nested.property("agents[0].apps[0].url", `http://127.0.0.1:${port}`);
    expect([modeOf(home()), modeOf(join(directory, workspace.id))]).to.deep.equal(["700", "700"]);
    const secretFile = join(home(), ".config/app/token");
    expect(readFileSync(secretFile, "utf8")).to.equal("file secret\n");
    const modes = [secretFile, join(home(), ".config"), join(directory, workspace.id, "state.json")].map(modeOf);
    expect(modes).to.deep.equal(["600", "700", "600"]);
    expect(readFileSync(join(directory, workspace.id, "state.json"), "utf8")).not.to.match(/secret|hidden/);
    expect(JSON.stringify([job.outcome, job.logs, job.resources])).not.to.contain("hidden");
  });

  it("speaks for the agent: startup, lifecycle, heartbeats, resources, and the output of the command", async () => {
    const job = await start({ ...main, command: server(), apps: [web], directory: "project/app" });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.inputsOf("agentHeartbeat").length >= 3 && agent.lines.includes("listening"));
    await agent.until(() => agent.lifecycle.includes("READY"));
    expect(agent.lifecycle).to.deep.equal(["STARTING", "READY"]);
    expect(agent.inputsOf("reportAgentStartup")[0]).to.include({ expandedDirectory: join(home(), "project/app") });
    expect(agent.inputsOf("reportAgentResources")[0]!.memoryTotalBytes).to.be.greaterThan(1);
    await agent.until(() => agent.inputsOf("reportAgentResources").some((each) => each.cpuUsedMillicores != null));
    const measured = agent.inputsOf("reportAgentResources").find((each) => each.cpuUsedMillicores != null)!;
    expect(measured.cpuTotalMillicores).to.equal(cpus().length * 1000);
    expect(measured.cpuUsedMillicores).to.be.within(0, cpus().length * 1000);
    expect(readReport(home()).directory).to.equal(join(home(), "project/app"));
    const [{ logSourceId }] = agent.inputsOf("appendAgentLogs") as [{ logSourceId: string }];
    expect(logSourceId).to.equal(agent.manifest.logSourceId);
  });

  it("ends all processes of the workspace on stop, those that ignore SIGTERM included", async () => {
    const stopScript = { display_name: "Bye", script: 'echo "bye $STEWARD_AGENT_NAME"', run_on_stop: true };
    const job = await start({ ...main, command: server(), apps: [web], scripts: [stopScript] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    const { pid, grandchild } = readReport(home());
    expect([pid, grandchild].map(isRunning)).to.deep.equal([true, true]);

    const halt = await build("STOP", template()).reaches("SUCCEEDED");
    expect([pid, grandchild].map(isRunning)).to.deep.equal([false, false]);
    expect(agent.lifecycle.slice(-2)).to.deep.equal(["SHUTTING_DOWN", "OFF"]);
    expect(agent.lines).to.include("bye main");
    expect(agent.inputsOf("disconnectAgent")).to.have.length(1);
    expect(halt.outcome).to.deep.include({ state: job.outcome!.state }).and.not.have.property("pin");
    expect(existsSync(home())).to.equal(true);
  });

  it("keeps the ports of a workspace, and removes its directory on delete", async () => {
    const first = await start({ ...main, command: server(), apps: [web] });
    await build("STOP", template()).reaches("SUCCEEDED");
    const second = await start({ ...main, command: server(), apps: [web] });
    expect(second.outcome!.state).to.deep.equal(first.outcome!.state);
    const agent = steward.agentOf(second, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    const { pid } = readReport(home());
    await build("DELETE", template()).reaches("SUCCEEDED");
    expect(isRunning(pid)).to.equal(false);
    expect(existsSync(join(directory, workspace.id))).to.equal(false);
  });

  it("stops and starts a workspace that is claimed", async () => {
    const agent = { ...main, command: server(), apps: [web] };
    const made = await start(agent);
    const before = steward.agentOf(made, "main");
    await before.until(() => before.healthOf("web").includes("HEALTHY"));
    const { pid } = readReport(home());
    const claim = await build("START", template(agent), { claim: true }).reaches("SUCCEEDED");
    const after = steward.agentOf(claim, "main");
    await after.until(() => after.healthOf("web").includes("HEALTHY"));
    expect(isRunning(pid)).to.equal(false);
    expect(readReport(home()).env.STEWARD_AGENT_TOKEN).to.equal(after.token);
  });

  it("succeeds in stopping what is not running", async () => {
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(existsSync(join(directory, workspace.id))).to.equal(false);
  });

  it("fails a build whose command fails immediately, and ends everything that it started", async () => {
    // The build takes all of this time, for the other agent.
    await settleIn(8_000);
    const other = { ...main, name: "other", command: server("0") };
    steward.secrets.env = [{ name: "API_KEY", value: "hidden-key" }];
    const script = 'printf "Out of tokens\\n\\033[31mKey $API_KEY\\033[0m has none\\n\\n" >&2; exit 3';
    const job = build("START", template(other, { ...main, command: ["sh", "-c", script] }));
    await job.reaches("FAILED");
    expect(job.outcome!.error).to.equal(
      "Agent main failed to start. The command ended with status 3. Its log has the output. Its last line is: Key *** has none",
    );
    const state = JSON.parse(readFileSync(join(directory, workspace.id, "state.json"), "utf8")) as object;
    expect(state).to.deep.include({ agents: [] }).and.not.have.property("job");
    if (existsSync(join(home(), "child.json"))) expect(isRunning(readReport(home()).pid)).to.equal(false);
  });

  it("fails a build whose command cannot be started", async () => {
    const job = build("START", template({ ...main, command: ["no-such-program"] }));
    await job.reaches("FAILED");
    expect(job.outcome!.error).to.contain("command of agent main could not be started").and.contain("ENOENT");
  });

  it("does not run agents that are external or have no command", async () => {
    const job = await start({ ...main, external: true, command: idle }, { ...main, name: "plain" });
    expect(steward.agentOf(job, "main").calls).to.deep.equal([]);
    expect(steward.agentOf(job, "plain").calls).to.deep.equal([]);
  });

  it("ends what it started if the build is canceled, or its lease is lost", async () => {
    // No build succeeds before it is interrupted.
    await settleIn(20_000);
    for (const interrupt of [(job: StandInJob) => steward.cancel(job), (job: StandInJob) => steward.takeAway(job)]) {
      const job = build("START", template({ ...main, command: server("0") }));
      await job.until(() => job.logs.some(({ output }) => output.includes("Starting the command")));
      interrupt(job);
      if (job.status === "CANCELING") await job.reaches("CANCELED");
      const after = await build("STOP", template()).reaches("SUCCEEDED");
      expect(after.status).to.equal("SUCCEEDED");
      if (existsSync(join(home(), "child.json"))) expect(isRunning(readReport(home()).pid)).to.equal(false);
    }
  });

  it("runs start scripts in a shell and reports their results", async () => {
    const script = (display_name: string, text: string, timeout = 0) => ({
      display_name,
      script: text,
      timeout,
      run_on_start: true,
    });
    const scripts = [
      script("Good", 'echo "in $PWD"; echo "$STEWARD_WORKSPACE_NAME"'),
      script("Bad", "exit 7"),
      script("Slow", "sleep 600", 1),
      script("Leaving", "sleep 600 &"),
    ];
    const job = await start({ ...main, command: idle, scripts });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.lifecycle.length === 2);
    expect(agent.lifecycle, "a failure counts more than a timeout").to.deep.equal(["STARTING", "START_ERROR"]);
    const ids = (agent.manifest.scripts as Array<{ id: string; displayName: string }>).map(({ id }) => id);
    const results = agent.inputsOf("reportScriptResult");
    const statuses = ids.map((id) => results.find(({ scriptId }) => scriptId === id)!.status);
    expect(statuses).to.deep.equal(["OK", "EXIT_FAILURE", "TIMED_OUT", "PIPES_LEFT_OPEN"]);
    expect(results.find(({ scriptId }) => scriptId === ids[1])!.exitCode).to.equal(7);
    await agent.until(() => agent.lines.includes(`in ${home()}`) && agent.lines.includes("box"));
  });

  it("keeps the first and the last lines of a burst, and says in between how many are missing", async () => {
    const burst = { display_name: "Burst", script: "seq 1 30000; echo over >&2", run_on_start: true };
    const quiet = { display_name: "Quiet", script: "echo quiet", run_on_start: true };
    const job = await start({ ...main, command: idle, scripts: [burst, quiet] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.lifecycle.includes("READY"));
    await build("STOP", template()).reaches("SUCCEEDED");
    const [{ logSourceId: source }] = agent.manifest.scripts as [{ logSourceId: string }];
    const lines = agent
      .inputsOf("appendAgentLogs")
      .filter(({ logSourceId }) => logSourceId === source)
      .flatMap(({ logs }) => (logs as Array<{ output: string }>).map(({ output }) => output));
    const gap = lines.findIndex((line) => line.endsWith("lines were left out: there were too many."));
    const first = lines.slice(0, gap);
    const last = lines.slice(gap + 1, lines.indexOf("over"));
    expect(first).to.deep.equal(Array.from(first, (_, nr) => `${nr + 1}`));
    expect(last).to.deep.equal(Array.from(last, (_, nr) => `${30_000 - last.length + nr + 1}`));
    expect(Math.min(first.length, last.length)).to.be.greaterThan(500);
    expect(Number.parseInt(lines[gap]!, 10)).to.equal(30_000 - first.length - last.length);
    expect(agent.lines).to.include("quiet");
  });

  it("reads the start and the end of too much output of the command, and cuts long lines, with marks", async () => {
    const text = `const { writeFileSync, writeSync } = require("node:fs");
      writeSync(1, "ä".repeat(3000) + "\\nfirst\\n" + "padding\\n".repeat(1_500_000) + "last\\n");
      writeFileSync("written", "");
      setInterval(() => {}, 1000);`;
    const agent = steward.agentOf(await start({ ...main, command: node(text) }), "main");
    await agent.until(() => agent.lines.length > 0 && existsSync(join(home(), "written")));
    await build("STOP", template()).reaches("SUCCEEDED");
    const { lines } = agent;
    expect(lines.slice(0, 2)).to.deep.equal([`${"ä".repeat(2043)} … [cut]`, "first"]);
    expect(Buffer.byteLength(lines[0]!)).to.be.within(4090, 4096);
    expect(lines.at(-1)).to.equal("last");
    const notices = lines.slice(2, -1).filter((line) => line !== "padding");
    expect(notices.join()).to.include("left out: there were too many.");
    expect(lines.indexOf(notices[0]!)).to.be.within(500, lines.length - 500);
  });

  it("runs scripts by their schedules, and appends their output to their files inside of the home", async () => {
    await writeFile(join(directory, "outside"), "");
    const scripts = [
      { display_name: "Often", script: "echo tick", cron: "* * * * * *", log_path: "logs/often.log" },
      // Servers of earlier releases take it.
      { display_name: "Never", script: "echo never", cron: "99 * * * *" },
      { display_name: "Out", script: "echo out", run_on_start: true, log_path: "../../outside" },
    ];
    const job = await start({ ...main, command: idle, scripts });
    const agent = steward.agentOf(job, "main");
    const [often] = agent.manifest.scripts as Array<{ id: string }>;
    const runs = () => agent.inputsOf("reportScriptResult").filter(({ scriptId }) => scriptId === often!.id);
    await agent.until(() => runs().length >= 2 && agent.lines.some((line) => line.includes("it is outside the home")));
    await agent.until(() => agent.lifecycle.includes("READY"));
    expect(runs()[0]).to.include({ status: "OK", exitCode: 0 });
    expect(agent.lines).to.include('The script "Never" does not run by its schedule 99 * * * *, which is not valid.');
    expect(agent.lifecycle).to.include("READY");
    expect(readFileSync(join(home(), "logs/often.log"), "utf8")).to.match(/^tick\ntick\n/);
    expect(modeOf(join(home(), "logs/often.log"))).to.equal("600");
    expect(readFileSync(join(directory, "outside"), "utf8")).to.equal("");
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(agent.lifecycle.at(-1)).to.equal("OFF");
  });

  it("ends processes that a script has left behind", async () => {
    const text = 'sleep 600 & echo $! > "$HOME/left"';
    const scripts = [{ display_name: "Leaving", script: text, run_on_start: true }];
    const job = await start({ ...main, command: idle, scripts });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.lifecycle.includes("READY"));
    const left = Number(readFileSync(join(home(), "left"), "utf8"));
    expect(isRunning(left)).to.equal(true);
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(isRunning(left)).to.equal(false);
  });

  it("reports failed and slow stop scripts, and stops all the same", async () => {
    const scripts = [{ display_name: "Bad", script: "exit 1", run_on_stop: true }];
    const agent = steward.agentOf(await start({ ...main, command: idle, scripts }), "main");
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(agent.lifecycle.slice(-3)).to.deep.equal(["SHUTTING_DOWN", "SHUTDOWN_ERROR", "OFF"]);
  });

  it("restarts a command that fails, if the template says so; its apps are unhealthy meanwhile", async () => {
    const command = server();
    const job = await start({ ...main, command, apps: [patient], restart: "on_failure" });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    const first = readReport(home());
    process.kill(first.pid, "SIGKILL");
    await agent.until(() => agent.healthOf("web").length === 3);
    expect(agent.healthOf("web")).to.deep.equal(["HEALTHY", "UNHEALTHY", "HEALTHY"]);
    expect(isRunning(first.grandchild)).to.equal(false);
    expect(readReport(home()).pid).not.to.equal(first.pid);
    await agent.until(() => agent.lines.some((line) => line.includes("started again in")));
  });

  it("disconnects an agent whose command has ended", async () => {
    const job = await start({ ...main, command: server(), apps: [patient] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    process.kill(readReport(home()).pid, "SIGKILL");
    await agent.until(() => agent.inputsOf("disconnectAgent").length);
    expect(agent.healthOf("web")).to.deep.equal(["HEALTHY", "UNHEALTHY"]);
    await agent.until(() => agent.lines.some((line) => line.includes("ended by a signal")));
  });

  it("reports an app as unhealthy that does not respond, by its threshold", async () => {
    const checked = { ...check, threshold: 2 };
    const job = await start({ ...main, command: idle, apps: [{ ...web, healthcheck: checked }] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").length);
    expect(agent.healthOf("web")).to.deep.equal(["UNHEALTHY"]);
  });

  it("does not write secret files outside the home or through links, and says so in the agent's log", async () => {
    const outside = await mkdtemp(join(tmpdir(), "outside-"));
    await mkdir(home(), { recursive: true });
    await writeFile(join(outside, "file"), "old");
    await symlink(outside, join(home(), "dir"));
    await symlink(join(outside, "file"), join(home(), "file"));
    await link(join(outside, "file"), join(home(), "hard"));
    await writeFile(join(home(), "own"), "old", { mode: 0o644 });
    const paths = [join(outside, "new"), "~/dir/new", "~/file", "~/hard", "~/../escaped", "~/own"];
    steward.secrets.files = paths.map((path) => ({ path, content: "sensitive" }));
    steward.secrets.errors = [{ name: "OLD", reason: "Its name is reserved." }];

    const agent = steward.agentOf(await start({ ...main, command: idle }), "main");
    await agent.until(() => agent.lines.length >= 6);
    expect(agent.lines.filter((line) => line.includes("was not written"))).to.have.length(5);
    expect(agent.lines).to.include("The secret OLD was not delivered: Its name is reserved.");
    expect(agent.lines.join("\n")).not.to.contain("sensitive");
    expect(readFileSync(join(outside, "file"), "utf8")).to.equal("old");
    expect(existsSync(join(outside, "new")) || existsSync(join(directory, workspace.id, "escaped"))).to.equal(false);
    expect([readFileSync(join(home(), "own"), "utf8"), modeOf(join(home(), "own"))]).to.deep.equal([
      "sensitive",
      "644",
    ]);
    await rm(outside, { recursive: true });
  });

  it("gives one workspace nothing of another one's secrets", async () => {
    steward.secrets.env = [{ name: "MINE", value: "secret of box" }];
    const agent = { ...main, command: server(), apps: [web] };
    const mine = await start(agent);
    const first = steward.agentOf(mine, "main");
    const box = workspace;
    await first.until(() => first.healthOf("web").includes("HEALTHY"));
    steward.secrets.env = [];
    workspace = standInWorkspace("other");
    const other = await start(agent);
    const second = steward.agentOf(other, "main");
    await second.until(() => second.healthOf("web").includes("HEALTHY"));
    expect(JSON.stringify(readReport(home()))).not.to.match(new RegExp(`secret of box|${box.id}`));
    expect(other.outcome!.state).not.to.deep.equal(mine.outcome!.state);
    await steward.assign(template(), { transition: "DELETE", workspace: box }).reaches("SUCCEEDED");
  });

  it("ends the processes of an agent whose token has ended", async () => {
    const job = await start({ ...main, command: server(), apps: [web] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    const { pid, grandchild } = readReport(home());
    agent.isValid = false;
    await eventually(() => !isRunning(pid) && !isRunning(grandchild), "both processes end");
    expect([pid, grandchild].map(isRunning)).to.deep.equal([false, false]);
  });

  it("delivers reports that the server could not take, once it is back", async () => {
    const scripts = [{ display_name: "Wait", script: "sleep 0.2", run_on_start: true }];
    const job = await start({ ...main, command: idle, scripts });
    steward.isDown = true;
    const agent = steward.agentOf(job, "main");
    await steward.until(() => steward.turnedAway >= 5);
    steward.isDown = false;
    await agent.until(() => agent.lifecycle.includes("READY"));
  });

  it("does not touch a foreign process that has the ID of an earlier one", async () => {
    const foreign = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
    await start({ ...main, command: idle });
    stop.abort();
    await running;
    const path = join(directory, workspace.id, "state.json");
    const state = JSON.parse(readFileSync(path, "utf8")) as { agents: Array<{ processes: object }> };
    const leader = { pid: foreign.pid!, started: "long ago" };
    const [{ processes }] = state.agents as [{ processes: { groups: Array<{ pid: number }> } }];
    const own = processes.groups[0]!.pid;
    Object.assign(processes, { command: leader, groups: [leader] });
    await writeFile(path, JSON.stringify(state));
    await serve();
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(isRunning(foreign.pid!)).to.equal(true);
    for (const pid of [foreign.pid!, own]) process.kill(pid, "SIGKILL");
  });

  it("undoes a start that an earlier daemon did not complete, and keeps one that it completed", async () => {
    const job = await start({ ...main, command: server(), apps: [web] });
    const agent = steward.agentOf(job, "main");
    await agent.until(() => agent.healthOf("web").includes("HEALTHY"));
    const { pid } = readReport(home());
    const path = join(directory, workspace.id, "state.json");
    const restart = async (lease: string) => {
      stop.abort();
      await running;
      const state = JSON.parse(readFileSync(path, "utf8")) as object;
      await writeFile(path, JSON.stringify({ ...state, job: { id: job.id, lease } }));
      await serve();
    };
    await restart(job.lease);
    const beats = agent.inputsOf("agentHeartbeat").length;
    await agent.until(() => agent.inputsOf("agentHeartbeat").length > beats + 2);
    expect(isRunning(pid)).to.equal(true);
    await restart("lost");
    await build("STOP", template()).reaches("SUCCEEDED");
    expect(isRunning(pid)).to.equal(false);
  });
});
