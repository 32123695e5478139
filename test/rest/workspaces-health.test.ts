// One health of workspaces and tasks: state, reason, since when, and what helps; lists filtered by it.
// Reaches for tables: times are moved in the tables, which would otherwise take minutes to pass.
import { expect } from "chai";
import { AgentProgram } from "../support/agent-api.js";
import { runJob } from "../support/background.js";
import { boxOf, createBox, endBuild, runningBox, stop, doBuild, templateOf } from "../support/builds.js";
import { letPass, setColumns, setTimes } from "../support/tables.js";
import { TaskStage } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Person, sharedWorld } from "../support/world.js";

const selected = "health { state healthy reason since help }";

/** How many tasks the job finds at a time. */
const batchSize = 50;

/** When agents were last seen, of which none is lost while a test goes on: they are half a minute later. */
const notSilent = "1 min";

const shared = sharedWorld();

describe("the health of a workspace", () => {
  const w = shared();
  let ada: Person;
  let template: { id: string };

  before(async () => {
    [ada] = (await w().users("ada")) as [Person];
    template = await templateOf(w(), boxOf());
  });

  const healthOf = async (id: string) =>
    (await w().as(ada).graphql(`query($id: UUID!) { workspace(id: $id) { ${selected} } }`, { id })).workspace.health;
  const agents = (id: string, values: Record<string, unknown>) =>
    setColumns(w(), "workspace_agents", { workspace_id: id }, values);
  const seen = (id: string, times: Record<string, string>) =>
    setTimes(w(), "workspace_agents", { workspace_id: id }, times);

  /** A workspace whose agent is connected. */
  async function connected(): Promise<{ id: string; name: string }> {
    const { workspace } = await runningBox(w(), ada, template.id);
    await seen(workspace.id, { first_connected_at: "-1 min", last_connected_at: notSilent });
    await agents(workspace.id, { lifecycle: "ready" });
    return workspace;
  }

  it("is that of its build until it runs", async () => {
    const { workspace, workspaceBuild } = await createBox(w(), ada, template.id);
    expect(await healthOf(workspace.id)).to.include({ state: "IN_PROGRESS", healthy: true, help: null });
    await letPass(w(), "provisioner_jobs", { workspace_build_id: workspaceBuild.id }, "2 min", ["created_at"]);
    const waiting = await healthOf(workspace.id);
    expect(waiting).to.include({ state: "UNHEALTHY", healthy: false });
    expect(waiting.reason).to.contain("no provisioner daemon is connected");
    expect(waiting.help).to.contain("start a provisioner daemon");
    expect(Date.parse(waiting.since)).to.be.lessThan(Date.now() - 60_000);

    await endBuild(w(), workspaceBuild.id, "failed");
    const failed = await healthOf(workspace.id);
    expect(failed).to.include({ state: "UNHEALTHY", reason: "Its latest build failed." });
    expect(Date.parse(failed.since)).to.be.greaterThan(Date.now() - 60_000);
  });

  it("is that of its agent while it runs, and nothing is wrong once it is stopped", async () => {
    const { workspace } = await runningBox(w(), ada, template.id);
    const { id } = workspace;
    expect(await healthOf(id)).to.include({
      state: "IN_PROGRESS",
      reason: "The agent main has not connected yet.",
    });
    await letPass(w(), "workspace_agents", { workspace_id: id }, "5 min", ["created_at"]);
    expect(await healthOf(id)).to.include({ state: "UNHEALTHY", reason: "The agent main has not connected in time." });
    await seen(id, { first_connected_at: "-1 min", last_connected_at: notSilent });
    await agents(id, { lifecycle: "starting" });
    expect(await healthOf(id)).to.include({ state: "IN_PROGRESS", reason: "The agent main is starting." });
    await letPass(w(), "workspace_agents", { workspace_id: id }, "15 min", ["created_at"]);
    expect((await healthOf(id)).reason).to.equal("The agent main has been starting for too long.");
    await agents(id, { lifecycle: "ready" });
    expect(await healthOf(id)).to.deep.equal({
      state: "HEALTHY",
      healthy: true,
      reason: null,
      since: null,
      help: null,
    });
    await agents(id, { lifecycle: "start_error" });
    expect((await healthOf(id)).reason).to.equal("A startup script of the agent main failed.");
    await agents(id, { lifecycle: "off" });
    expect((await healthOf(id)).reason).to.equal("The agent main has shut down.");
    await seen(id, { last_connected_at: "-3 min" });
    const lost = await healthOf(id);
    expect(lost.reason).to.contain("has lost its connection");
    expect(Date.parse(lost.since)).to.be.lessThan(Date.now() - 120_000);

    const { stopWorkspace } = await w().as(ada).graphql(stop, { workspace: id });
    await doBuild(w(), stopWorkspace.workspaceBuild.id);
    expect(await healthOf(id)).to.include({ state: "HEALTHY", reason: null });
  });

  it("is that of its apps while its agents are connected", async () => {
    const withApp = await templateOf(w(), {
      ...boxOf(),
      resources: [
        {
          name: "box",
          agents: [
            {
              name: "main",
              os: "linux",
              arch: "amd64",
              apps: [
                {
                  slug: "web",
                  display_name: "Site",
                  url: "http://localhost:1",
                  healthcheck: { url: "http://localhost:1" },
                },
              ],
            },
          ],
        },
      ],
    });
    const { workspace } = await runningBox(w(), ada, withApp.id);
    await seen(workspace.id, { first_connected_at: "-1 min", last_connected_at: notSilent });
    await agents(workspace.id, { lifecycle: "ready" });
    const app = (health: string) => setColumns(w(), "workspace_apps", { slug: "web" }, { health });
    await app("initializing");
    expect(await healthOf(workspace.id)).to.include({ state: "IN_PROGRESS", reason: "The app Site is starting." });
    await letPass(w(), "workspace_agents", { workspace_id: workspace.id }, "20 min", ["created_at"]);
    expect((await healthOf(workspace.id)).reason).to.equal("The app Site has been starting for too long.");
    await app("unhealthy");
    expect(await healthOf(workspace.id)).to.include({ state: "UNHEALTHY", reason: "The app Site is unhealthy." });
    await app("healthy");
    expect(await healthOf(workspace.id)).to.include({ state: "HEALTHY" });
  });

  it("selects workspaces of a list", async () => {
    const fine = await connected();
    const lost = await connected();
    await seen(lost.id, { last_connected_at: "-3 min" });
    const { workspace: failed, workspaceBuild } = await createBox(w(), ada, template.id);
    await endBuild(w(), workspaceBuild.id, "failed");
    const list = async (unhealthy: boolean): Promise<string[]> => {
      const query = `query($filter: WorkspaceFilter) { workspaces(filter: $filter) { nodes { id } } }`;
      const { workspaces } = await w().as(ada).graphql(query, { filter: { unhealthy } });
      return workspaces.nodes.map(({ id }: { id: string }) => id);
    };
    expect(await list(true))
      .to.include.members([lost.id, failed.id])
      .and.not.include(fine.id);
    expect(await list(false))
      .to.include(fine.id)
      .and.not.include.members([lost.id, failed.id]);
  });
});

describe("the health of a task", () => {
  const w = shared();
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;

  before(async () => {
    program = await AgentProgram.open();
    stage = await TaskStage.open(w(), program);
    ada = await w().user("ada");
  });
  after(async () => {
    stage.close();
    await program.close();
  });

  const read = async (id: string) =>
    (await w().as(ada).graphql(`query($id: String!) { task(task: $id) { status ${selected} } }`, { id })).task;
  const listed = async (unhealthy: boolean): Promise<string[]> => {
    const query = `query($filter: TaskFilter) { tasks(filter: $filter) { nodes { id } } }`;
    const { tasks } = await w().as(ada).graphql(query, { filter: { unhealthy } });
    return tasks.nodes.map(({ id }: { id: string }) => id);
  };
  const told = async (): Promise<Array<{ title: string; content: string }>> =>
    (await w().as(ada).get("/api/v2/notifications/inbox")).body.notifications.filter(({ title }: { title: string }) =>
      title.endsWith("does not start"),
    );

  /** Waits for the notice about a task, which a run of the server itself may be about to send. */
  const isTold = (name: string) =>
    eventually(
      async () => (await told()).some(({ title }) => title === `Task ${name} does not start`),
      `the notice about ${name}`,
    );

  it("has a limit for its start, with a reason, of which its owner is told once", async () => {
    const task = await stage.create(ada);
    const token = (await stage.carryOut())!;
    await stage.lifecycle(token, "STARTING");
    await setTimes(
      w(),
      "workspace_agents",
      { workspace_id: task.workspace_id.uuid },
      {
        first_connected_at: "-1 min",
        last_connected_at: notSilent,
      },
    );
    expect(await read(task.id)).to.include({ status: "INITIALIZING" });
    expect((await read(task.id)).health).to.include({ state: "IN_PROGRESS", healthy: true });
    await runJob(w().app, "slowStarts");
    expect(await told()).to.deep.equal([]);
    expect(await listed(true)).to.not.include(task.id);

    await letPass(w(), "workspace_agents", { workspace_id: task.workspace_id.uuid }, "20 min", ["created_at"]);
    const { status, health } = await read(task.id);
    expect(status).to.equal("INITIALIZING");
    expect(health).to.include({ state: "UNHEALTHY", reason: "The agent main has been starting for too long." });
    expect(health.help).to.contain("startup script");
    expect(await listed(true)).to.include(task.id);
    await Promise.all([1, 2, 3].map(() => runJob(w().app, "slowStarts")));
    await isTold(task.name);
    const [notice, ...others] = await told();
    expect(others).to.deep.equal([]);
    expect(notice!.content).to.contain("The agent main has been starting for too long");

    await stage.ready(token);
    expect((await read(task.id)).health).to.include({ state: "HEALTHY", reason: null });
    expect(await listed(false)).to.include(task.id);
  });

  it("says why a task is in error", async () => {
    const task = await stage.create(ada);
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    await stage.daemon.call("failProvisionerJob", job, { error: "No machine is free." });
    const { status, health } = await read(task.id);
    expect(status).to.equal("ERROR");
    expect(health).to.include({
      state: "UNHEALTHY",
      healthy: false,
      reason: "The build of the workspace failed: No machine is free.",
    });
    expect(health.help).to.contain("Start it again");
    expect(await listed(true)).to.include(task.id);
  });

  it("is told to an owner, although many others are suspended", async () => {
    const bob = await w().user("bob");
    for (let nr = 0; nr <= batchSize; nr++) await stage.create(bob);
    const { name } = await stage.create(ada);
    await letPass(w(), "provisioner_jobs", {}, "20 min", ["created_at"]);
    const query = "{ tasks(filter: { unhealthy: true }) { totalCount } }";
    expect((await w().as(bob).graphql(query)).tasks.totalCount).to.be.at.least(batchSize);
    await w()
      .as(w().owner)
      .graphql(`mutation($user: String!) { suspendUser(input: { user: $user }) { user { status } } }`, {
        user: bob.id,
      });
    await runJob(w().app, "slowStarts");
    await isTold(name);
    expect((await told()).map(({ title }) => title)).to.include(`Task ${name} does not start`);
  });
});
