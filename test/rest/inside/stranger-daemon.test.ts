// A daemon that was written from docs/daemon-protocol.md alone, as a process, against the server and through its faults.
// Looks inside: no interface shows the state that a build stores, and leases end while a daemon is away.
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { GraphQLError } from "graphql";
import { ownerPassword } from "../../support/app.js";
import { runJob } from "../../support/background.js";
import { cloneDatabase, type TestDatabase } from "../../support/cluster.js";
import { freePort } from "../../support/ports.js";
import { type Program, type ServerProcess, spawnProgram, spawnServer } from "../../support/process.js";
import { newKey } from "../../support/provisioners.js";
import { StandInSteward } from "../../support/stand-in-steward.js";
import { setTimes } from "../../support/tables.js";
import { eventually } from "../../support/watchers.js";
import { type Anything, Client, world } from "../../support/world.js";

/** Milliseconds for what processes do; a job that was not accepted is given back after up to 18 seconds. */
const timeout = 40_000;

/** The daemons of a test, in directories that disappear with them. */
class Strangers {
  readonly #programs: Program[] = [];
  readonly #directories: string[] = [];

  /** Starts a daemon of a name. It keeps its directory if it is started again. */
  async start(name: string, settings: NodeJS.ProcessEnv, directory?: string): Promise<Stranger> {
    const made = directory ?? (await mkdtemp(join(tmpdir(), "stranger-")));
    this.#directories.push(made);
    const stranger = new Stranger(
      spawnProgram("test/support/stranger-daemon.mjs", [], {
        STRANGER_NAME: name,
        STRANGER_DIR: made,
        ...settings,
      }),
      made,
    );
    this.#programs.push(stranger.program);
    return stranger;
  }

  async end(): Promise<void> {
    for (const { child } of this.#programs) child.kill("SIGKILL");
    await Promise.all(this.#programs.map(({ ended }) => ended));
    for (const directory of this.#directories) await rm(directory, { recursive: true, force: true });
  }
}

/** A daemon and its directory. */
class Stranger {
  constructor(
    readonly program: Program,
    readonly directory: string,
  ) {}

  /** Waits for a text in its output. */
  prints = (text: string): Promise<void> =>
    eventually(() => this.program.output().includes(text), `the daemon prints ${text}`, timeout).catch(
      (error: Error) => {
        throw new Error(`${error.message}\n${this.program.output()}`);
      },
    );

  /** The jobs that it began, in their order, with what each is for. */
  get begun(): string[] {
    return [...this.program.stdout().matchAll(/^Job (\S+): \w+ begins\.$/gm)].map(([, id]) => id!);
  }

  /** The file that stands for a workspace; null if there is none. */
  workspace(id: string): Anything {
    try {
      return JSON.parse(readFileSync(join(this.directory, "workspaces", `${id}.json`), "utf8"));
    } catch {
      return null;
    }
  }

  /** Lets the jobs go on that wait for a file. */
  release = (file: string): void => writeFileSync(join(this.directory, file), "");

  kill(signal: NodeJS.Signals): Promise<number | NodeJS.Signals> {
    this.program.child.kill(signal);
    return this.program.ended;
  }
}

/** Calls a mutation, and returns its payload. */
async function submit(client: Client, mutation: string, input: object, selection: string) {
  const type = `${mutation[0]!.toUpperCase()}${mutation.slice(1)}Input`;
  const made = await client.graphql(`mutation($input: ${type}!) { ${mutation}(input: $input) { ${selection} } }`, {
    input,
  });
  return made[mutation];
}

let made = 0;

/** The type of provisioner of a test, which has the jobs of no other one. */
const newType = () => `stranger-${++made}`;

interface Made {
  template: { id: string };
  templateVersion: { id: string; job: { id: string } };
}

const createTemplate = (client: Client, provisioner: string, document: object = {}, more: object = {}): Promise<Made> =>
  submit(
    client,
    "createTemplate",
    {
      organization: "default",
      name: `t-${++made}`,
      document: {
        schema: "steward.template/1",
        provisioner,
        resources: [{ name: "box", agents: [{ name: "main", os: "linux", arch: "amd64" }] }],
        ...document,
      },
      ...more,
    },
    "template { id } templateVersion { id job { id } }",
  );

const jobOf = async (client: Client, id: string) =>
  (
    await client.graphql(
      `query($id: UUID!) { provisionerJob(id: $id) {
         status error errorCode workerId workerName logs { nodes { sequence level stage output } } } }`,
      { id },
    )
  ).provisionerJob;

/** Waits until a job has a status. Returns the job. */
async function reaches(client: Client, id: string, status: string) {
  let job: Anything;
  const isReached = async () => (job = await jobOf(client, id)).status === status;
  await eventually(isReached, `job ${id} is ${status}`, timeout).catch((error: Error) => {
    throw new Error(`${error.message} ${JSON.stringify(job)}`);
  });
  return job;
}

/** Begins the first build of a workspace. Returns its ids. */
async function createWorkspace(client: Client, { template }: Made, more: object = {}) {
  const input = { templateId: template.id, name: `w-${++made}`, ...more };
  const selection = "workspace { id name } workspaceBuild { job { id } }";
  const { workspace, workspaceBuild } = await submit(client, "createWorkspace", input, selection);
  return { id: workspace.id as string, name: workspace.name as string, job: workspaceBuild.job.id as string };
}

/** Begins another build. Returns its job. */
const rebuild = async (client: Client, workspace: string, mutation: string): Promise<string> =>
  (await submit(client, mutation, { workspace }, "workspaceBuild { job { id } }")).workspaceBuild.job.id;

const outputs = ({ logs }: Anything): string[] => logs.nodes.map(({ output }: Anything) => output);

describe("a daemon written by a stranger", () => {
  const w = world({ STEWARD_BUILTIN_DAEMON: "false" });
  let key: string;
  let type: string;
  let strangers: Strangers;

  before(async () => {
    key = await newKey(w());
  });
  beforeEach(() => {
    type = newType();
    strangers = new Strangers();
  });
  afterEach(() => strangers.end());

  const owner = () => w().as(w().owner);
  const settings = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
    STEWARD_URL: w().url,
    STEWARD_PROVISIONER_KEY: key,
    STRANGER_TYPES: type,
    ...more,
  });

  /** Starts a daemon that has the key of the tests, unless the settings say otherwise. */
  const start = (name: string, more: NodeJS.ProcessEnv = {}, directory?: string): Promise<Stranger> =>
    strangers.start(`${type}-${name}`, settings(more), directory);

  /** Creates a template, and waits until it is imported. */
  async function imported(document: object = {}): Promise<Made> {
    const template = await createTemplate(owner(), type, document);
    await reaches(owner(), template.templateVersion.job.id, "SUCCEEDED");
    return template;
  }

  /** Starts a daemon and the first build of a workspace, which waits for the file `go`. */
  async function building(name: string, more: NodeJS.ProcessEnv = {}) {
    const daemon = await start(name, more);
    const template = await imported({ source: { start: [{ log: "Waits.", until: "go" }] } });
    const workspace = await createWorkspace(owner(), template);
    await daemon.prints(`Job ${workspace.job}: start begins.`);
    await eventually(
      () => daemon.workspace(workspace.id)?.status === "starting",
      "the start changes the workspace",
      timeout,
    );
    return { daemon, template, workspace };
  }

  it("imports a template with its parameters, also where a value, a workspace, and a task are yet to come", async () => {
    await start("a");
    const { templateVersion } = await imported({
      parameters: [
        { name: "size", type: "number" },
        { name: "model", default: "small", options: ["small", "large"].map((value) => ({ name: value, value })) },
      ],
      variables: [{ name: "image", default: "debian" }],
      source: { import: [{ log: "Looks around." }] },
      resources: [
        {
          name: "box",
          metadata: [{ key: "about", value: "${param.size} ${param.model} ${var.image} $${x}" }],
          agents: [
            {
              name: "main",
              os: "linux",
              arch: "amd64",
              directory: "/${workspace.name}/${workspace.id}",
              env: { TASK: "${task.id}${task.prompt}", OWNER: "${workspace.owner} ${workspace.owner_id}" },
              command: ["run", "${param.size}"],
              apps: [
                {
                  slug: "web",
                  url: "http://${param.size}:${param.size}",
                  healthcheck: { url: "http://x/${param.model}" },
                },
              ],
            },
          ],
        },
      ],
    });
    const query = "query($id: UUID!) { templateVersion(id: $id) { isImported parameters { name defaultValue } } }";
    const { templateVersion: version } = await owner().graphql(query, { id: templateVersion.id });
    expect(version).to.deep.equal({
      isImported: true,
      parameters: [
        { name: "size", defaultValue: null },
        { name: "model", defaultValue: "small" },
      ],
    });
    const job = await jobOf(owner(), templateVersion.job.id);
    expect(outputs(job)).to.deep.equal(["The import has 1 resources.", "Looks around."]);
  });

  it("says why an import fails", async () => {
    await start("a");
    const { templateVersion } = await createTemplate(owner(), type, {
      source: { import: [{ fail: "The image does not exist." }] },
    });
    const job = await reaches(owner(), templateVersion.job.id, "FAILED");
    expect(job.error).to.equal("The image does not exist.");
    expect(job.logs.nodes.at(-1)).to.include({ level: "ERROR", output: "The image does not exist." });
  });

  it("plans, starts, stops, starts, and deletes a workspace, and hands its state on", async () => {
    const daemon = await start("a");
    const template = await imported({
      parameters: [{ name: "size" }],
      source: { start: [{ log: "Hello." }], plan: [{ log: "Would say hello." }] },
      resources: [
        { name: "box", metadata: [{ key: "about", value: "${workspace.owner}/${workspace.name}: ${param.size}" }] },
        { name: "disk", transitions: ["start", "stop"] },
      ],
    });
    const parameters = [{ name: "size", value: "9" }];
    const plan = await submit(
      owner(),
      "dryRunTemplateVersion",
      { templateVersionId: template.templateVersion.id, parameters },
      "provisionerJob { id }",
    );
    expect(outputs(await reaches(owner(), plan.provisionerJob.id, "SUCCEEDED"))).to.include("Would say hello.");

    const { id, name, job } = await createWorkspace(owner(), template, { parameters });
    expect(outputs(await reaches(owner(), job, "SUCCEEDED"))).to.deep.equal(["The start has 2 resources.", "Hello."]);
    const running = { status: "running", name, parameters };
    expect(daemon.workspace(id)).to.deep.equal({ ...running, build: 1 });
    const resources = async () =>
      (
        await owner().graphql(
          "query($id: UUID!) { workspace(id: $id) { latestBuild { status resources { name metadata { value } } } } }",
          { id },
        )
      ).workspace.latestBuild;
    const disk = { name: "disk", metadata: [] };
    expect(await resources()).to.deep.equal({
      status: "RUNNING",
      resources: [{ name: "box", metadata: [{ value: `${w().owner.username}/${name}: 9` }] }, disk],
    });

    await reaches(owner(), await rebuild(owner(), id, "stopWorkspace"), "SUCCEEDED");
    expect(daemon.workspace(id)).to.deep.include({ status: "stopped" });
    expect(await resources()).to.deep.equal({ status: "STOPPED", resources: [disk] });
    await reaches(owner(), await rebuild(owner(), id, "startWorkspace"), "SUCCEEDED");
    expect(daemon.workspace(id)).to.deep.equal({ ...running, build: 3 });
    await reaches(owner(), await rebuild(owner(), id, "deleteWorkspace"), "SUCCEEDED");
    expect(daemon.workspace(id)).to.equal(null);
    const { rows } = await w().app.services.database.pool.query(
      "select state from workspace_builds where workspace_id = $1 order by build_number",
      [id],
    );
    expect(rows.map(({ state }) => state.starts)).to.deep.equal([1, 1, 2, 2]);
  });

  it("undoes a start that fails", async () => {
    const daemon = await start("a");
    const template = await imported({ source: { start: [{ until: "go" }, { fail: "No disk is left." }] } });
    const { id, job } = await createWorkspace(owner(), template);
    await eventually(() => daemon.workspace(id)?.status === "starting", "the start begins", timeout);
    daemon.release("go");
    expect((await reaches(owner(), job, "FAILED")).error).to.equal("No disk is left.");
    expect(daemon.workspace(id)).to.equal(null);
  });

  it("stops a build that is canceled, and undoes it", async () => {
    const { daemon, workspace } = await building("a");
    await submit(owner(), "cancelProvisionerJob", { job: workspace.job }, "__typename");
    await reaches(owner(), workspace.job, "CANCELED");
    expect(daemon.workspace(workspace.id)).to.equal(null);
  });

  it("abandons a build that exceeds the quota", async () => {
    const daemon = await start("a");
    const template = await imported({ resources: [{ name: "box", daily_cost: 5 }] });
    const { id, job } = await createWorkspace(owner(), template);
    expect(await reaches(owner(), job, "FAILED")).to.include({ errorCode: "INSUFFICIENT_QUOTA" });
    await daemon.prints(`Job ${job}: abandoned:`);
    expect(daemon.workspace(id)).to.equal(null);
    await imported();
  });

  it("goes on with its job after kill -9, if it is started again under its name", async () => {
    const { daemon, workspace } = await building("a", { STRANGER_SLOTS: "1" });
    const isLogged = async () => outputs(await jobOf(owner(), workspace.job)).length === 2;
    await eventually(isLogged, "its lines arrive", timeout);
    await daemon.kill("SIGKILL");
    const again = await start("a", { STRANGER_SLOTS: "1" }, daemon.directory);
    await again.prints(`Job ${workspace.job}: start begins.`);
    again.release("go");
    const job = await reaches(owner(), workspace.job, "SUCCEEDED");
    const half = ["The start has 1 resources.", "Waits."];
    expect(outputs(job)).to.deep.equal([...half, ...half]);
    expect(again.workspace(workspace.id)).to.include({ status: "running", build: 1 });
    expect(again.begun).to.deep.equal([workspace.job]);
    await imported();
  });

  it("leaves a job that it did not accept before kill -9 to the next daemon", async () => {
    const first = await start("a");
    const template = await imported();
    first.program.child.kill("SIGSTOP");
    const { id, job } = await createWorkspace(owner(), template);
    await eventually(async () => (await jobOf(owner(), job)).workerId !== null, "the job is handed out", timeout);
    const second = await start("b");
    await second.prints("Connected");
    await first.kill("SIGKILL");
    expect(await reaches(owner(), job, "SUCCEEDED")).to.include({ workerName: `${type}-b` });
    expect(first.begun).not.to.include(job);
    expect(second.begun).to.deep.equal([job]);
    expect(second.workspace(id)).to.include({ status: "running" });
  });

  it("abandons a job that was canceled before it accepted it", async () => {
    const daemon = await start("a");
    const template = await imported();
    daemon.program.child.kill("SIGSTOP");
    const { id, job } = await createWorkspace(owner(), template);
    await eventually(async () => (await jobOf(owner(), job)).workerId !== null, "the job is handed out", timeout);
    await submit(owner(), "cancelProvisionerJob", { job }, "__typename");
    expect((await jobOf(owner(), job)).status).to.equal("CANCELED");
    daemon.program.child.kill("SIGCONT");
    await daemon.prints(`Job ${job}: abandoned: `);
    expect(daemon.begun).not.to.include(job);
    expect(daemon.workspace(id)).to.equal(null);
    await imported();
  });

  it("has lost the job of a daemon that stays away, whose workspace another one starts", async () => {
    const { daemon, workspace } = await building("a");
    await daemon.kill("SIGKILL");
    await setTimes(w(), "provisioner_jobs", { completed_at: null }, { lease_expires_at: "-1 s" });
    await runJob(w().app, "jobReaper");
    expect((await reaches(owner(), workspace.job, "FAILED")).error).to.contain("stopped reporting");

    const second = await start("b");
    second.release("go");
    await reaches(owner(), await rebuild(owner(), workspace.id, "startWorkspace"), "SUCCEEDED");
    const again = await start("a", {}, daemon.directory);
    await again.prints(`Job ${workspace.job}: abandoned: `);
    expect(again.begun).to.deep.equal([]);
    expect((await jobOf(owner(), workspace.job)).status).to.equal("FAILED");
  });

  it("abandons a job whose lease it lost while it was connected, and takes others", async () => {
    const { daemon, workspace } = await building("a");
    // Renewed by each message of the daemon, but not once it has expired.
    await setTimes(w(), "provisioner_jobs", { completed_at: null }, { lease_expires_at: "-1 s" });
    await runJob(w().app, "jobReaper");
    await daemon.prints(`Job ${workspace.job}: abandoned: `);
    await imported();
  });

  it("shares jobs with another daemon: each job is done once", async () => {
    const daemons = await Promise.all(["a", "b"].map((name) => start(name, { STRANGER_SLOTS: "3" })));
    const template = await imported({ source: { start: [{ until: "go" }] } });
    const before = daemons.flatMap(({ begun }) => begun);
    expect(before).to.deep.equal([template.templateVersion.job.id]);
    const workspaces = await Promise.all(Array.from({ length: 8 }, () => createWorkspace(owner(), template)));
    const startsOf = ({ begun }: Stranger) => begun.filter((id) => !before.includes(id));
    // Both are full: two jobs wait.
    await eventually(() => daemons.every((each) => startsOf(each).length === 3), "both have three jobs", timeout);
    for (const daemon of daemons) daemon.release("go");
    for (const { job } of workspaces) await reaches(owner(), job, "SUCCEEDED");
    const begun = daemons.flatMap(startsOf);
    expect(begun).to.have.members(workspaces.map(({ job }) => job));
    for (const { id } of workspaces)
      expect(daemons.filter((daemon) => daemon.workspace(id)?.status === "running")).to.have.length(1);
  });

  it("gets the jobs of its tags only", async () => {
    const tagged = await start("tagged", { STEWARD_PROVISIONER_KEY: await newKey(w(), { gpu: "yes" }) });
    await tagged.prints("Connected");
    const plainJob = (await createTemplate(owner(), type)).templateVersion.job.id;
    const taggedJob = (await createTemplate(owner(), type, { tags: { gpu: "yes" } })).templateVersion.job.id;
    // The older job would have been first.
    await reaches(owner(), taggedJob, "SUCCEEDED");
    expect((await jobOf(owner(), plainJob)).status).to.equal("PENDING");
    const plain = await start("plain");
    await reaches(owner(), plainJob, "SUCCEEDED");
    expect([tagged.begun, plain.begun]).to.deep.equal([[taggedJob], [plainJob]]);
  });

  it("gets the jobs of its organization only", async () => {
    const { id } = await w().organization();
    const other = await start("other", {
      STEWARD_PROVISIONER_KEY: await newKey(w(), {}, id),
      STRANGER_ORGANIZATION: id,
    });
    await other.prints("Connected");
    const here = (await createTemplate(owner(), type)).templateVersion.job.id;
    const there = (await createTemplate(owner(), type, {}, { organization: id })).templateVersion.job.id;
    await reaches(owner(), there, "SUCCEEDED");
    expect((await jobOf(owner(), here)).status).to.equal("PENDING");
    const plain = await start("plain");
    await reaches(owner(), here, "SUCCEEDED");
    expect([other.begun, plain.begun]).to.deep.equal([[there], [here]]);
  });

  it("ends with the reason if it is rejected: by its key, its organization, its name, or its provisioners", async () => {
    const first = await start("a");
    await first.prints("Connected");
    const ends: Array<[NodeJS.ProcessEnv, number, RegExp]> = [
      [{ STEWARD_PROVISIONER_KEY: `stwk_${"x".repeat(43)}` }, 401, /not valid/],
      [{ STRANGER_ORGANIZATION: (await w().organization()).name }, 404, /not found/i],
      [{ STEWARD_PROVISIONER_KEY: await newKey(w()) }, 409, /another key or user has this name/],
      [{ STRANGER_TYPES: "No Type" }, 400, /"field":"provisioner"/],
    ];
    for (const [more, status, reason] of ends) {
      const daemon = await start("a", more);
      expect(await daemon.program.ended).to.equal(1);
      expect(daemon.program.stderr())
        .to.contain(`The server rejects the daemon with status ${status}: `)
        .and.match(reason);
    }
  });

  it("ends if another one takes its name, or if its key is deleted", async () => {
    const first = await start("a");
    await first.prints("Connected");
    const second = await start("a");
    expect(await first.program.ended).to.equal(1);
    expect(first.program.stderr()).to.contain("code 4410");
    expect(await second.kill("SIGTERM")).to.equal(0);

    const keys = "/api/v2/organizations/default/provisionerkeys";
    const { body } = await owner().post(keys, { name: "doomed" });
    const third = await start("c", { STEWARD_PROVISIONER_KEY: body.key });
    await third.prints("Connected");
    expect((await owner().delete(`${keys}/doomed`)).status).to.equal(204);
    expect(await third.program.ended).to.equal(1);
    expect(third.program.stderr()).to.contain("code 4403");
  });

  it("completes its jobs on SIGTERM, takes no others, and ends with status 0", async () => {
    const { daemon, workspace } = await building("a");
    daemon.program.child.kill("SIGTERM");
    await daemon.prints("Ends when its 1 jobs are done.");
    const later = await createTemplate(owner(), type);
    const next = await start("b");
    await reaches(owner(), later.templateVersion.job.id, "SUCCEEDED");
    daemon.release("go");
    expect(await daemon.program.ended).to.equal(0);
    expect((await jobOf(owner(), workspace.job)).status).to.equal("SUCCEEDED");
    expect(daemon.begun).not.to.include(later.templateVersion.job.id);
    expect(next.begun).to.include(later.templateVersion.job.id);
  });

  it("hears of a cancellation after SIGTERM as well, when its subscription has ended", async () => {
    const { daemon, workspace } = await building("a");
    daemon.program.child.kill("SIGTERM");
    await daemon.prints("Ends when its 1 jobs are done.");
    await submit(owner(), "cancelProvisionerJob", { job: workspace.job }, "__typename");
    expect(await daemon.program.ended).to.equal(0);
    expect((await jobOf(owner(), workspace.job)).status).to.equal("CANCELED");
  });
});

describe("a daemon written by a stranger, while the server restarts", () => {
  let database: TestDatabase;
  let server: ServerProcess;
  let restart: () => Promise<ServerProcess>;
  let owner: Client;
  const strangers = new Strangers();

  before(async () => {
    database = await cloneDatabase();
    const port = String(await freePort("127.0.0.1"));
    const settings = { STEWARD_DATABASE_URL: database.url, STEWARD_BUILTIN_DAEMON: "false", STEWARD_PORT: port };
    restart = () => spawnServer(settings);
    server = await restart();
    const login = { email: "owner@example.com", password: ownerPassword };
    const { body } = await new Client(server.url).post("/api/v2/users/login", login);
    owner = new Client(server.url, body.session_token);
  });
  after(async () => {
    await strangers.end();
    server.child.kill("SIGKILL");
    await server.ended;
    await database.drop();
  });

  it("goes on with its job after each restart, also after a kill of the server", async () => {
    const { body } = await owner.post("/api/v2/organizations/default/provisionerkeys", {});
    const daemon = await strangers.start("a", { STEWARD_URL: server.url, STEWARD_PROVISIONER_KEY: body.key });
    const template = await createTemplate(owner, "stranger", { source: { start: [{ log: "Waits.", until: "go" }] } });
    await reaches(owner, template.templateVersion.job.id, "SUCCEEDED");
    const { id, job } = await createWorkspace(owner, template);
    await eventually(() => daemon.workspace(id)?.status === "starting", "the start changes the workspace", timeout);

    server.child.kill("SIGTERM");
    await daemon.prints("The server restarts: ");
    await daemon.prints("Not connected (1012)");
    await server.ended;
    server = await restart();
    const connections = () => daemon.program.stdout().match(/^Connected/gm)?.length;
    await eventually(() => connections() === 2, "the daemon connects again", timeout);

    server.child.kill("SIGKILL");
    await server.ended;
    await daemon.prints("Not connected (1006)");
    // What it does while the server is away is reported afterwards.
    daemon.release("go");
    await eventually(() => daemon.workspace(id)?.status === "running", "the workspace runs", timeout);
    server = await restart();
    const done = await reaches(owner, job, "SUCCEEDED");
    expect(outputs(done)).to.deep.equal(["The start has 1 resources.", "Waits."]);
    expect(daemon.begun).to.deep.equal([template.templateVersion.job.id, job]);
    expect(await daemon.kill("SIGTERM")).to.equal(0);
  });
});

describe("a daemon written by a stranger, with a server that has faults", () => {
  let steward: StandInSteward;
  const strangers = new Strangers();

  before(async () => {
    steward = await StandInSteward.start();
  });
  after(async () => {
    await strangers.end();
    await steward.stop();
  });

  it("repeats every mutation while the server is unavailable, and connects again after 503", async () => {
    steward.rejectWith = { status: 503, body: { message: "Draining." } };
    const daemon = await strangers.start("a", { STEWARD_URL: steward.url, STEWARD_PROVISIONER_KEY: steward.key });
    await daemon.prints("Not connected (503): ");
    steward.rejectWith = undefined;
    const later = () => new GraphQLError("Later.", { extensions: { code: "UNAVAILABLE" } });
    for (const mutation of ["accept", "update", "complete"]) steward.faults.set(`${mutation}ProvisionerJob`, later());
    steward.faults.set("reportProvisionerResources", later());
    const document = { schema: "steward.template/1", provisioner: "stranger", parameters: [], resources: [] };
    const job = await steward.assign(document).reaches("SUCCEEDED");
    expect(job.logs.map(({ sequence }) => sequence)).to.deep.equal([1]);
    expect(steward.faults.size).to.equal(0);
  });
});
