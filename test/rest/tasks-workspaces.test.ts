// Tasks and their workspaces: what is done to one concerns the other.
// Reaches for tables: deadlines pass, and builds of tasks without a program are shown nowhere.
import { expect } from "chai";
import { runSchedule } from "../support/background.js";
import type { AgentProgram } from "../support/agent-api.js";
import { remove, start, stop } from "../support/builds.js";
import { countRows, setColumns, setTimes } from "../support/tables.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { type Client, type Person, world } from "../support/world.js";

const tasks = "/api/v2/tasks";
const share = `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`;

describe("tasks and their workspaces", () => {
  const the = world();
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;
  let as: Client;

  withTasks(the, (opened) => ({ stage, program } = opened));
  afterEach(() => stage.check());
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    program.reset();
    await receiveAll(as);
  });

  const read = async (id: string, who = as) => (await who.get(`${tasks}/me/${id}`)).body;
  /** Whether the task has a program in a build. */
  const isLinked = async (id: string, build: number) =>
    (await countRows(the(), "task_builds", { task_id: id, build_number: build })) -
      (await countRows(the(), "task_builds", { task_id: id, build_number: build, app_id: null })) ===
    1;

  /** Lets a user receive the notifications of tasks. */
  async function receiveAll(who: Client): Promise<void> {
    const { body } = await who.get("/api/v2/notifications/templates/system");
    const ids = body
      .filter(({ name }: { name: string }) => name.startsWith("Task "))
      .map(({ id }: { id: string }) => id);
    await who.put("/api/v2/users/me/notifications/preferences", {
      template_disabled_map: Object.fromEntries(ids.map((id: string) => [id, false])),
    });
  }

  const told = async (): Promise<Array<{ title: string; content: string }>> =>
    (await as.get("/api/v2/notifications/inbox")).body.notifications;

  it("are paused at the deadline, and their owner is told why", async () => {
    const { task } = await stage.active(ada);
    const id = task.workspace_id.uuid as string;
    await setTimes(the(), "workspace_builds", { workspace_id: id }, { deadline: "-1 min" });
    await setTimes(the(), "workspaces", { id }, { deadline: "-1 min" });
    await setColumns(the(), "workspaces", { id }, { autobuild_after: null });
    await Promise.all([runSchedule(the().app, "stop"), runSchedule(the().app, "stop")]);
    await stage.carryOut();
    expect(await read(task.id)).to.include({ status: "paused", workspace_build_number: 2 });
    const { workspace } = await as.graphql(`{ workspace(id: "${id}") { latestBuild { reason } } }`);
    expect(workspace.latestBuild).to.deep.equal({ reason: "TASK_AUTO_PAUSE" });
    const [paused, ...others] = await told();
    expect(others).to.deep.equal([]);
    expect(paused!.title).to.equal(`Task ${task.name} is paused`);
    expect(paused!.content).to.include("idle timeout");
  });

  it("tell their owner when they were paused and resumed", async () => {
    const { task } = await stage.active(ada);
    await as.post(`${tasks}/me/${task.id}/pause`);
    expect(await told(), "before the stop has ended").to.deep.equal([]);
    await stage.carryOut();
    expect((await told()).map(({ content }) => content).join()).to.include(`was paused by **${ada.username}**`);
    await as.post(`${tasks}/me/${task.id}/resume`);
    await stage.carryOut();
    expect((await told()).map(({ title }) => title)).to.deep.equal([
      `Task ${task.name} was resumed`,
      `Task ${task.name} is paused`,
    ]);
  });

  it("are paused and run with the workspace, each start with its own agent and app", async () => {
    const { task } = await stage.active(ada);
    const workspace = task.workspace_id.uuid as string;
    await as.graphql(stop, { workspace });
    await stage.carryOut();
    expect((await read(task.id)).status).to.equal("paused");
    await as.graphql(start, { input: { workspace } });
    expect(await isLinked(task.id, 1)).to.equal(true);
    expect(await isLinked(task.id, 3)).to.equal(false);
    expect((await read(task.id)).status).to.equal("pending");
    await stage.ready((await stage.carryOut())!);
    expect((await read(task.id)).status).to.equal("active");
    expect(await isLinked(task.id, 3)).to.equal(true);
    expect(await told(), "these were no pauses of the task").to.deep.equal([]);
  });

  it("have the status that follows from reports of the agent at the same time", async () => {
    const task = await stage.create(ada);
    const token = (await stage.carryOut())!;
    await stage.lifecycle(token, "STARTING");
    for (const [lifecycle, health, status] of [
      ["READY", "HEALTHY", "active"],
      ["SHUTTING_DOWN", "UNHEALTHY", "error"],
      ["STARTING", "HEALTHY", "initializing"],
    ] as const) {
      await Promise.all([stage.lifecycle(token, lifecycle), stage.health(token, health)]);
      expect((await read(task.id)).status).to.equal(status);
    }
  });

  it("end as orphans with the workspace", async () => {
    const { task } = await stage.active(ada);
    const removed = { workspace: task.workspace_id.uuid as string, orphan: true };
    await the().as(the().owner).graphql(remove, removed);
    expect((await as.get(`${tasks}/me/${task.id}`)).status).to.equal(404);
  });

  it("end with the workspace", async () => {
    const { task } = await stage.active(ada);
    await as.graphql(remove, { workspace: task.workspace_id.uuid });
    expect((await read(task.id)).status, "while it is deleted").to.equal("active");
    await stage.carryOut();
    expect((await as.get(`${tasks}/me/${task.id}`)).status).to.equal(404);
    expect(await countRows(the(), "tasks", { id: task.id, deleted_at: null })).to.equal(0);
  });

  it("are gone although the deletion of the workspace fails, which stays", async () => {
    const { task } = await stage.active(ada);
    expect((await as.delete(`${tasks}/me/${task.id}`)).status).to.equal(202);
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    await stage.daemon.call("failProvisionerJob", job, { error: "No." });
    expect((await as.get(`${tasks}/me/${task.id}`)).status).to.equal(404);
    const { workspaces } = await as.graphql(`{ workspaces(filter: { owner: "me" }) { nodes { name status } } }`);
    expect(workspaces.nodes).to.deep.equal([{ name: task.name, status: "FAILED" }]);
  });

  it("are shared with it", async () => {
    const { task } = await stage.active(ada);
    const [user, admin] = await the().users("user", "admin");
    const perms = [
      { id: user!.id, role: "use" },
      { id: admin!.id, role: "admin" },
    ];
    await as.graphql(share, { input: { workspace: task.workspace_id.uuid, userPerms: perms } });
    const act = (person: Person, action: string, body?: object) =>
      the().as(person).post(`${tasks}/me/${task.id}/${action}`, body);
    for (const person of [user!, admin!]) {
      expect((await read(task.id, the().as(person))).id).to.equal(task.id);
      expect((await the().as(person).get(tasks)).body).to.include({ count: 1 });
      expect((await act(person, "send", { input: `From ${person.username}` })).status).to.equal(204);
      expect((await the().as(person).delete(`${tasks}/me/${task.id}`)).status, "deletion").to.equal(403);
    }
    expect(program.inputs).to.deep.equal([`From ${user!.username}`, `From ${admin!.username}`]);
    expect((await act(user!, "pause")).status).to.equal(403);
    expect((await act(admin!, "pause")).status).to.equal(202);
    await stage.carryOut();
    expect((await act(user!, "resume")).status).to.equal(403);
    expect((await the().as(user!).patch(`${tasks}/me/${task.id}/input`, { input: "Theirs" })).status).to.equal(403);
    expect((await act(admin!, "resume")).status).to.equal(202);
    await stage.carryOut();
  });
});
