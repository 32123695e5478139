// Limits of resources of the type `process`: the provisioner as a program, with a directory that stands for cgroups, since
// tests cannot have those of the kernel on every machine.
// Looks inside: which cgroup a daemon finds depends on files of the kernel that a test cannot change.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { Cgroups } from "../../../clients/daemon/process/cgroups.js";
import { isRunning, node } from "../../support/children.js";
import { type Program, spawnProgram } from "../../support/process.js";
import { standInWorkspace, StandInSteward } from "../../support/stand-in-steward.js";
import { eventually } from "../../support/watchers.js";

const limits = { memory: "${param.gigabytes}GiB", cpus: 1.5, processes: "512" };
const main = { name: "main", os: "linux", arch: "amd64" };
const template = (given: object, ...agents: object[]) => ({
  schema: "steward.template/1",
  provisioner: "process",
  parameters: [{ name: "gigabytes", default: "2" }],
  resources: [{ name: "box", limits: given, agents }],
});

/** Writes down what it finds in its cgroup, and about itself, before anything else. */
const witness = node(`const { readdirSync, readFileSync, writeFileSync } = require("node:fs");
  const { CGROUPS, HOME } = process.env;
  const name = readdirSync(CGROUPS).find((each) => each.startsWith("steward-") && each.endsWith("-0"));
  const files = ["cgroup.procs", "memory.max", "memory.swap.max", "cpu.max", "pids.max"];
  const found = Object.fromEntries(files.map((file) => [file, readFileSync(CGROUPS + "/" + name + "/" + file, "utf8")]));
  const own = { pid: process.pid, input: readFileSync(0, "utf8"), names: Object.keys(process.env) };
  writeFileSync(HOME + "/seen.json", JSON.stringify({ ...own, found }));
  console.log("ready");
  setInterval(() => {}, 1000);`);

interface Seen {
  pid: number;
  input: string;
  names: string[];
  found: Record<string, string>;
}

describe("limits of resources", () => {
  let steward: StandInSteward;
  let programs: Program[];
  let directory: string;
  let base: string;
  let workspace: ReturnType<typeof standInWorkspace>;

  beforeEach(async () => {
    steward = await StandInSteward.start();
    programs = [];
    directory = await realpath(await mkdtemp(join(tmpdir(), "limits-")));
    await chmod(directory, 0o711);
    base = join(directory, "cgroup");
    await mkdir(base);
    await offer("cpuset cpu io memory pids");
    for (const name of ["cgroup.subtree_control", "cgroup.procs"]) await writeFile(join(base, name), "");
    workspace = standInWorkspace();
  });
  afterEach(async () => {
    await build("DELETE", template({})).reaches("SUCCEEDED");
    for (const { child } of programs) child.kill("SIGKILL");
    await Promise.all(programs.map(({ ended }) => ended));
    await steward.stop();
    await rm(directory, { recursive: true });
  });

  const offer = (controllers: string) => writeFile(join(base, "cgroup.controllers"), `${controllers}\n`);

  /** Starts a daemon, by default with the directory that stands for cgroups. */
  function provisioner(cgroup = base, kernel: NodeJS.ProcessEnv = {}): Program {
    const settings = {
      STEWARD_URL: steward.url,
      STEWARD_PROVISIONER_KEY: steward.key,
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: join(directory, "data"),
      STEWARD_PROVISIONER_CGROUP: cgroup,
      STAND_IN_CGROUPS: base,
      ...kernel,
    };
    const options = [`--import=${new URL("../../support/stand-in-cgroups.mjs", import.meta.url).href}`];
    const words = ["--allow-root", "--allow-shared-user"];
    const program = spawnProgram("dist/provisioner/main.js", words, settings, { options });
    programs.push(program);
    return program;
  }

  const build = (transition: "START" | "STOP" | "DELETE", document: Record<string, unknown>) =>
    steward.assign(document, { transition, workspace });

  async function start(agent: object = {}, given: object = limits) {
    const document = template(given, { ...main, command: witness, env: { CGROUPS: base }, ...agent });
    const job = await build("START", document).reaches("SUCCEEDED");
    return { job, agent: steward.agentOf(job, "main") };
  }

  const seen = () => JSON.parse(readFileSync(join(directory, "data", workspace.id, "home/seen.json"), "utf8")) as Seen;
  /** The changes of the cgroups, in order. */
  const done = () =>
    readFileSync(`${base}.log`, "utf8")
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as string[]).join(" "));
  const cgroups = () => readdirSync(base).filter((name) => name.startsWith("steward-"));

  it("hold before a command runs, and end with the workspace", async () => {
    const daemon = provisioner();
    const scripts = [{ display_name: "Script", script: "echo script $$", run_on_start: true }];
    const { job, agent } = await start({ scripts });
    await agent.until(() => agent.lines.includes("ready") && agent.lines.some((line) => line.startsWith("script ")));
    expect(daemon.output()).to.include(`Limits of resources are enforced by cgroups in ${base}.`);

    const { pid, input, names, found } = seen();
    expect(found).to.deep.include({
      "memory.max": String(2 * 1024 ** 3),
      "memory.swap.max": "0",
      "cpu.max": "150000 100000",
      "pids.max": "512",
    });
    expect(found["cgroup.procs"]!.split("\n"), "before its command ran").to.include(String(pid));
    expect(input).to.equal("");
    expect(names).not.to.include.members(["PWD"]);
    expect(job.resources![0]!.limits).to.deep.equal({ memory: "2GiB", cpus: 1.5, processes: "512" });

    const script = agent.lines.find((line) => line.startsWith("script "))!.split(" ")[1]!;
    const [name] = cgroups() as [string];
    expect(name).to.match(new RegExp(`^steward-[0-9a-f]{12}-${workspace.id}-0$`));
    expect(done()).to.deep.equal([
      "write cgroup.subtree_control +memory +cpu +pids",
      `mkdir ${name}`,
      `write memory.max ${2 * 1024 ** 3}`,
      "write memory.swap.max 0",
      "write cpu.max 150000 100000",
      "write pids.max 512",
      `write cgroup.procs ${pid}`,
      `write cgroup.procs ${script}`,
    ]);

    await build("STOP", template({})).reaches("SUCCEEDED");
    expect(isRunning(pid)).to.equal(false);
    expect(done().slice(8)).to.deep.equal(["write cgroup.kill 1", `rmdir ${name}`]);
    expect(cgroups()).to.deep.equal([]);
  });

  it("are the totals of the usage that is reported, which is that of the processes under them", async () => {
    provisioner();
    const { agent } = await start({}, { memory: "1GiB", cpus: 0.5 });
    await agent.until(() => agent.inputsOf("reportAgentResources").length);
    const { cpuTotalMillicores, memoryUsedBytes, memoryTotalBytes } = agent.inputsOf("reportAgentResources")[0]!;
    expect({ cpuTotalMillicores, memoryUsedBytes, memoryTotalBytes }).to.deep.equal({
      cpuTotalMillicores: 500,
      memoryUsedBytes: 200 * 1024 ** 2,
      memoryTotalBytes: 1024 ** 3,
    });
  });

  it("go on after kill -9 of the daemon, and leftovers of its workspaces are removed, but no others", async () => {
    const first = provisioner();
    const scripts = [{ display_name: "Bye", script: "echo bye $$", run_on_stop: true }];
    const { agent } = await start({ scripts });
    await agent.until(() => agent.lines.includes("ready") && agent.lifecycle.includes("READY"));
    first.child.kill("SIGKILL");
    await first.ended;
    const [name] = cgroups() as [string];
    const stray = spawn("sleep", ["600"], { stdio: "ignore" });
    const gone = once(stray, "exit");
    const leftover = name.replace(workspace.id, standInWorkspace().id);
    const foreign = `steward-${"0".repeat(12)}-${workspace.id}-0`;
    for (const each of [leftover, foreign]) {
      await mkdir(join(base, each));
      for (const file of ["cgroup.procs", "cgroup.kill"]) await writeFile(join(base, each, file), "");
    }
    await writeFile(join(base, leftover, "cgroup.procs"), `${stray.pid}\n`);

    provisioner();
    await gone;
    const beats = agent.inputsOf("agentHeartbeat").length;
    await agent.until(() => agent.inputsOf("agentHeartbeat").length > beats);
    const { pid } = seen();
    expect(isRunning(pid)).to.equal(true);
    await build("STOP", template({})).reaches("SUCCEEDED");
    expect(isRunning(pid)).to.equal(false);
    const last = agent.lines.find((line) => line.startsWith("bye "))!.split(" ")[1]!;
    const of = (line: string) => done().lastIndexOf(line);
    expect(of(`write cgroup.procs ${last}`)).to.be.within(0, of(`rmdir ${name}`));
    // The daemon removes it beside its builds, some time after its processes have ended.
    await eventually(() => done().includes(`rmdir ${leftover}`), "the leftover is removed");
    expect(cgroups()).to.deep.equal([foreign]);
  });

  it("are named in the log of the agent when the kernel has ended a process for memory", async () => {
    provisioner();
    const { agent } = await start({ restart: "on_failure" });
    await agent.until(() => agent.lines.includes("ready"));
    await writeFile(join(base, cgroups()[0]!, "memory.events"), "low 0\noom 3\noom_kill 1\noom_group_kill 0\n");
    process.kill(seen().pid, "SIGKILL");
    await agent.until(() => agent.lines.some((line) => line.includes("started again")));
    const notice = "A process was ended because the limit of memory of the resource was reached.";
    const from = agent.lines.indexOf(notice);
    expect(agent.lines.slice(from, from + 2)).to.deep.equal([
      notice,
      "The command was ended by a signal. It is started again in 1 s.",
    ]);
    await agent.until(() => agent.lines.filter((line) => line === "ready").length === 2);
    expect(seen().found["cgroup.procs"]!.split("\n"), "after the restart").to.include(String(seen().pid));
  });

  it("are named in the error of a build whose command ends early for memory", async () => {
    provisioner(base, { STAND_IN_OOM_KILLS: "2" });
    const job = build("START", template(limits, { ...main, command: ["sh", "-c", "kill -9 $$"] }));
    await job.reaches("FAILED");
    expect(job.outcome!.error).to.include(
      "Agent main failed to start. The command was ended by a signal. 2 processes were ended because the limit of memory " +
        "of the resource was reached. Its log has the output.",
    );
    expect(cgroups()).to.deep.equal([]);
  });

  it("are enforced as far as the controllers go, and fail a build that requires the others", async () => {
    await offer("memory pids");
    const daemon = provisioner();
    const fault = `Limits of cpus are not enforced on this machine because the cgroup ${base} lacks the controllers cpu.`;
    const { job, agent } = await start();
    await agent.until(() => agent.lines.includes("ready"));
    expect(daemon.output()).to.include(fault);
    expect(job.logs.filter(({ level }) => level === "WARN").map(({ output }) => output)).to.deep.equal([
      `Resource box: ${fault}`,
    ]);
    expect(seen().found).to.include({ "pids.max": "512", "cpu.max": "max 100000\n" });
    const strict = build("START", template({ ...limits, required: true }, { ...main, command: witness }));
    await strict.reaches("FAILED");
    expect(strict.outcome!.error).to.equal(`The template requires the limits of resource box. ${fault}`);
    expect(cgroups()).to.deep.equal([]);
    const { agent: other } = await start({}, { memory: "1GiB", cpus: "", required: true });
    await other.until(() => other.lines.includes("ready"));
  });

  it("are enforced on this machine, or the daemon and the builds say why not", async () => {
    const daemon = provisioner("");
    const agent = { command: node('console.log("ready"); setInterval(() => {}, 1000);') };
    const { job, agent: speaker } = await start(agent);
    await speaker.until(() => speaker.lines.includes("ready"));
    const [reason] = /Limits of .*(because .*\.|cgroups in .*\.)/.exec(daemon.output())!;
    const { agents } = JSON.parse(readFileSync(join(directory, "data", workspace.id, "state.json"), "utf8")) as {
      agents: Array<{ processes: { command: { pid: number } } }>;
    };
    const own = readFileSync(`/proc/${agents[0]!.processes.command.pid}/cgroup`, "utf8");
    const isEnforced = reason.includes("are enforced");
    expect(own.includes(`${workspace.id}-0`)).to.equal(isEnforced);
    expect(job.logs.some(({ output }) => output === `Resource box: ${reason}`)).to.equal(!isEnforced);
    const strict = build("START", template({ ...limits, required: true }, { ...main, ...agent }));
    await strict.reaches(isEnforced ? "SUCCEEDED" : "FAILED");
    if (!isEnforced) expect(strict.outcome!.error).to.include(reason);
  });
});

describe("the cgroup of a daemon", () => {
  let directory: string;

  beforeEach(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "own-cgroup-")));
    for (const each of ["proc/self", `proc/${process.pid}`, "proc/77", "mount point/service/steward-daemon"])
      await mkdir(join(directory, each), { recursive: true });
    for (const [path, text] of Object.entries({
      [`proc/${process.pid}/status`]: "Name:\tnode\nPPid:\t77\n",
      "proc/77/status": "Name:\tnpm\nPPid:\t0\n",
      "proc/self/cgroup": "1:name=systemd:/\n0::/system.slice/service\n",
      "mount point/service/cgroup.controllers": "memory cpu pids\n",
      "mount point/service/cgroup.subtree_control": "",
      "mount point/service/cgroup.procs": `77\n${process.pid}\n`,
    }))
      await writeFile(join(directory, path), text);
    mounted("/system.slice");
  });
  afterEach(() => rm(directory, { recursive: true }));

  const put = (path: string, text: string) => writeFileSync(join(directory, path), text);
  const read = (path: string) => readFileSync(join(directory, path), "utf8");
  const mounted = (root: string) => {
    const point = join(directory, "mount point").replaceAll(" ", "\\040");
    const others = "20 1 0:5 / /proc rw - proc proc rw\n";
    put("proc/self/mountinfo", `${others}41 31 0:38 ${root} ${point} rw,relatime shared:9 - cgroup2 cgroup2 rw\n`);
  };
  const open = () => Cgroups.open("/data", "", join(directory, "proc"));
  const base = () => join(directory, "mount point/service");

  it("is its own, which it leaves for one below, with the programs that started it", () => {
    expect(open().notice).to.equal(`Limits of resources are enforced by cgroups in ${base()}.`);
    // The last one that was written: a file that stands for the kernel's keeps no list.
    expect(read("mount point/service/steward-daemon/cgroup.procs")).to.equal(String(process.pid));
    expect(read("mount point/service/cgroup.subtree_control")).to.equal("+memory +cpu +pids");
  });

  it("is the one above if the service manager has started it in the one below", () => {
    put("proc/self/cgroup", "0::/system.slice/service/steward-daemon\n");
    put("mount point/service/cgroup.procs", "");
    put("mount point/service/cgroup.subtree_control", "memory cpu pids");
    expect(open().notice).to.include(`in ${base()}.`);
    expect(existsSync(join(base(), "steward-daemon/cgroup.procs"))).to.equal(false);
    expect(read("mount point/service/cgroup.subtree_control")).to.equal("memory cpu pids");
  });

  it("is not used if others run in it, if it is not there, or if it has no controllers; the reason is told", () => {
    const prefix = "Limits of memory, cpus, processes are not enforced on this machine because";
    put("mount point/service/cgroup.procs", `77\n${process.pid}\n78\n`);
    expect(open().notice).to.equal(`${prefix} other processes than the daemon run in its cgroup ${base()}.`);
    expect(existsSync(join(base(), "steward-daemon/cgroup.procs"))).to.equal(false);
    put("mount point/service/cgroup.procs", "");
    put("mount point/service/cgroup.controllers", "hugetlb\n");
    expect(open().notice).to.equal(`${prefix} the cgroup ${base()} has none of the controllers memory, cpu, pids.`);
    rmSync(join(base(), "cgroup.controllers"));
    expect(open().notice).to.equal(`${prefix} the daemon cannot use the cgroup ${base()} (ENOENT).`);
    mounted("/other.slice");
    expect(open().notice).to.equal(`${prefix} the cgroup of the daemon is not mounted.`);
    put("proc/self/mountinfo", "20 1 0:5 / /proc rw - proc proc rw\n");
    expect(open().notice).to.equal(`${prefix} it has no cgroups v2.`);
  });

  it("ends processes one by one where the kernel lacks cgroup.kill, and waits until they are gone", async () => {
    const cgroups = open();
    const { enforced, fault } = cgroups.enforce("workspace", 0, { processes: 5 });
    expect(fault).to.equal(undefined);
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    enforced!.enter(child.pid!);
    const [name] = readdirSync(base()).filter((each) => each.includes("workspace")) as [string];
    const ended = once(child, "exit");
    const removal = cgroups.remove("workspace");
    expect(cgroups.remove("workspace"), "another removal meanwhile").to.equal(removal);
    expect((await ended)[1]).to.equal("SIGKILL");
    // The kernel's files go with their directory, these do not.
    rmSync(join(base(), name), { recursive: true });
    await removal;
    expect(cgroups.workspaces()).to.deep.equal([]);
  });
});
