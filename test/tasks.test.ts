// The life of AI tasks, told on both surfaces.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { withTimeLeft } from "./support/clock.js";
import { newId } from "./support/ids.js";
import type { AgentProgram } from "./support/agent-api.js";
import { type TaskStage, withTasks } from "./support/tasks.js";
import { eventually } from "./support/watchers.js";
import { type Answer, type Client, type Person, world } from "./support/world.js";

const tasks = "/api/v2/tasks";

const fieldsOf = ({ body }: Answer) => body.validations?.map(({ field }: { field: string }) => field);

describe("tasks", () => {
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
    program.status = "stable";
    program.handlers = {};
  });

  /** Counts of a month must not see its end. */
  const inOneMonth = () => withTimeLeft(86_400_000, 30_000);
  const read = async (id: string, who = as) => (await who.get(`${tasks}/me/${id}`)).body;
  const act = (id: string, action: string, body?: object, who = as) => who.post(`${tasks}/me/${id}/${action}`, body);

  it("count as managed agents each time that they start, and not when that fails", async () => {
    await inOneMonth();
    const owner = the().as(the().owner);
    const actual = async () => {
      await owner.post("/api/v2/licenses/refresh-entitlements");
      return (await owner.get("/api/v2/entitlements")).body.features.managed_agent_limit.actual;
    };
    const before = await actual();
    const { task } = await stage.active(ada);
    expect(await actual()).to.equal(before + 1);
    for (const action of ["pause", "resume"]) {
      expect((await act(task.id, action)).status).to.equal(202);
      await stage.carryOut();
    }
    expect(await actual()).to.equal(before + 2);
    await stage.create(ada, { name: "failing" });
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    await stage.daemon.call("failProvisionerJob", job, { error: "No room." });
    expect(await actual()).to.equal(before + 2);
  });

  describe("are created", () => {
    it("pending, with a workspace of the same name", async () => {
      const created = await as.post(`${tasks}/me`, {
        template_version_id: stage.versionId,
        input: "Fix the login bug please",
      });
      expect(created.status, JSON.stringify(created.body)).to.equal(201);
      expect(created.body).to.deep.include({
        status: "pending",
        display_name: "Fix the login bug please",
        initial_prompt: "Fix the login bug please",
        owner_id: ada.id,
        owner_name: ada.username,
        template_name: "agents",
        template_version_id: stage.versionId,
        workspace_status: "pending",
        workspace_build_number: 1,
        workspace_agent_id: { uuid: "00000000-0000-0000-0000-000000000000", valid: false },
        workspace_app_id: { uuid: "00000000-0000-0000-0000-000000000000", valid: false },
      });
      expect(created.body.name).to.match(/^fix-the-login-bug-please-[0-9a-f]{4}$/);
      expect(created.body.workspace_name).to.equal(created.body.name);
      expect(created.body.workspace_id).to.include({ valid: true });
      const unknown = { workspace_agent_health: null, workspace_agent_lifecycle: null, current_state: null };
      expect(created.body).to.deep.include(unknown);
      await stage.carryOut();
    });

    it("by one of two parallel requests for a name", async () => {
      const body = { template_version_id: stage.versionId, name: "twice" };
      const answers = await Promise.all([as.post(`${tasks}/me`, body), as.post(`${tasks}/me`, body)]);
      expect(answers.map(({ status }) => status)).to.have.members([201, 409]);
      expect(fieldsOf(answers.find(({ status }) => status === 409)!)).to.deep.equal(["name"]);
      const { workspaces } = await as.graphql(`{ workspaces(filter: { owner: "me" }) { nodes { name } } }`);
      expect(workspaces.nodes).to.deep.equal([{ name: "twice" }]);
      await stage.carryOut();
    });

    it("with all faults together", async () => {
      const faulty = await as.post(`${tasks}/me`, {
        template_version_id: stage.versionId,
        template_version_preset_id: newId(),
        name: "not a name",
        display_name: "x".repeat(65),
        input: "a\u0007b",
      });
      expect(faulty).to.include({ status: 400 });
      expect(fieldsOf(faulty)).to.have.members(["template_version_preset_id", "name", "display_name", "input"]);
      for (const version of [undefined, newId()]) {
        const refused = await as.post(`${tasks}/me`, { template_version_id: version });
        expect(refused).to.include({ status: 400 });
        expect(fieldsOf(refused)).to.deep.equal(["template_version_id"]);
      }
      const long = await as.post(`${tasks}/me`, { template_version_id: stage.versionId, input: "é".repeat(32_769) });
      expect(fieldsOf(long)).to.deep.equal(["input"]);
    });

    it("for others by administrators only", async () => {
      const bob = await the().user("bob");
      const body = { template_version_id: stage.versionId };
      expect(await as.post(`${tasks}/${bob.id}`, body)).to.include({ status: 404 });
      expect(await as.post(`${tasks}/${newId()}`, body)).to.include({ status: 404 });
      const made = await the().as(the().owner).post(`${tasks}/${bob.username}`, body);
      expect(made, JSON.stringify(made.body)).to.include({ status: 201 });
      expect(made.body.owner_id).to.equal(bob.id);
      const outside = await the().user("outside", [(await the().organization()).id]);
      const { status, body: problem } = await the().as(the().owner).post(`${tasks}/${outside.id}`, body);
      expect(status, JSON.stringify(problem)).to.equal(404);
      await stage.carryOut();
    });
  });

  it("pass pending, initializing and active, and are paused and resumed", async () => {
    const task = await stage.create(ada, { input: "Build it" });
    const job = await stage.next();
    expect(job.assignment).to.deep.include({ task: { id: task.id, prompt: "Build it" }, transition: "START" });
    expect((await read(task.id)).status).to.equal("pending");
    await stage.daemon.call("acceptProvisionerJob", job);
    expect(await read(task.id)).to.deep.include({ status: "initializing", workspace_status: "starting" });
    expect((await read(task.id)).current_state).to.include({ state: "working", uri: "" });
    const token = (await stage.report(job))!;
    expect(await read(task.id)).to.deep.include({ status: "initializing", workspace_agent_lifecycle: "created" });
    await stage.daemon.call("completeProvisionerJob", job);
    await stage.lifecycle(token, "STARTING");
    expect((await read(task.id)).status).to.equal("initializing");
    await stage.lifecycle(token, "READY");
    expect((await read(task.id)).status).to.equal("initializing");
    await stage.health(token, "HEALTHY");
    const active = await read(task.id);
    expect(active).to.deep.include({
      status: "active",
      workspace_status: "running",
      workspace_agent_lifecycle: "ready",
    });
    expect(active.workspace_agent_id.valid).to.equal(true);
    expect(active.workspace_app_id.valid).to.equal(true);
    expect(active.current_state).to.equal(null);
    await stage.health(token, "UNHEALTHY");
    expect((await read(task.id)).status).to.equal("error");
    await stage.health(token, "HEALTHY");

    const paused = await act(task.id, "pause");
    expect(paused, JSON.stringify(paused.body)).to.include({ status: 202 });
    expect(paused.body.workspace_build).to.deep.include({ transition: "stop", reason: "task_manual_pause" });
    expect((await act(task.id, "pause")).status).to.equal(409);
    expect((await act(task.id, "resume")).status).to.equal(409);
    expect((await read(task.id)).status, "while it stops").to.equal("active");
    expect((await act(task.id, "send", { input: "Hi" })).status).to.equal(409);
    await stage.carryOut();
    expect((await read(task.id)).status).to.equal("paused");

    expect((await act(task.id, "pause")).status).to.equal(409);
    expect((await act(task.id, "send", { input: "Hi" })).status).to.equal(409);
    expect((await as.patch(`${tasks}/me/${task.id}/input`, { input: " " })).status).to.equal(400);
    expect((await as.patch(`${tasks}/me/${task.id}/input`, { input: "Build it better" })).status).to.equal(204);
    const [resumed, again] = await Promise.all([act(task.id, "resume"), act(task.id, "resume")]);
    expect([resumed.status, again.status]).to.have.members([202, 409]);
    const build = (resumed.status === 202 ? resumed : again).body.workspace_build;
    expect(build).to.deep.include({ transition: "start", reason: "task_resume", build_number: 3 });
    expect(build.job).to.include({ type: "workspace_build", status: "pending" });
    expect(build.job.input).to.deep.equal({ workspace_build_id: build.id });
    expect((await as.patch(`${tasks}/me/${task.id}/input`, { input: "No" })).status).to.equal(409);
    const second = await stage.next();
    expect(second.assignment.task).to.deep.equal({ id: task.id, prompt: "Build it better" });
    await stage.daemon.call("acceptProvisionerJob", second);
    await stage.report(second);
    await stage.daemon.call("completeProvisionerJob", second);
  });

  it("are in error after a failed start, and can be resumed", async () => {
    const task = await stage.create(ada);
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    await stage.daemon.call("failProvisionerJob", job, { error: "No machine is free." });
    expect((await read(task.id)).status).to.equal("error");
    expect((await act(task.id, "resume")).status).to.equal(202);
    const token = (await stage.carryOut())!;
    await stage.ready(token);
    expect((await read(task.id)).status).to.equal("active");
  });

  describe("are found", () => {
    it("by id, or by name among the tasks of a user, in any letter case", async () => {
      const task = await stage.create(ada, { name: "By-Name" });
      await stage.carryOut();
      expect((await as.get(`${tasks}/me/by-name`)).body.id).to.equal(task.id);
      expect((await as.get(`${tasks}/${ada.username}/BY-NAME`)).body.id).to.equal(task.id);
      const owner = the().as(the().owner);
      expect((await owner.get(`${tasks}/me/${task.id}`)).body.id).to.equal(task.id);
      expect((await owner.get(`${tasks}/me/by-name`)).status).to.equal(404);
      expect((await owner.get(`${tasks}/${newId()}/${task.id}`)).status).to.equal(404);
      const { task: seen } = await as.graphql(`{ task(task: "by-name") { id owner { username } workspace { name } } }`);
      expect(seen).to.deep.equal({ id: task.id, owner: { username: ada.username }, workspace: { name: "By-Name" } });
    });

    it("by a search", async () => {
      const task = await stage.create(ada, { name: "needle", display_name: "In the haystack" });
      await stage.carryOut();
      const ids = async (q: string) => {
        const { status, body } = await as.get(`${tasks}?q=${encodeURIComponent(q)}`);
        expect(status, JSON.stringify(body)).to.equal(200);
        expect(body.count).to.equal(body.tasks.length);
        return body.tasks.map(({ id }: { id: string }) => id);
      };
      for (const q of [
        "",
        'owner:"me" status:initializing,paused',
        `OWNER:${ada.username} organization:default`,
        `organization:${the().defaultOrganization}`,
        "NEEDLE",
        "haystack",
        '"in the hay"',
      ])
        expect(await ids(q), q).to.deep.equal([task.id]);
      for (const q of ["status:paused", "owner:me other"]) expect(await ids(q), q).to.deep.equal([]);
      for (const q of ["status:foo", "foo:bar", "owner:nobody", 'owner:"me', "status:", "organization:none"]) {
        const refused = await as.get(`${tasks}?q=${encodeURIComponent(q)}`);
        expect(refused, q).to.include({ status: 400 });
        expect(refused.body.message).to.equal("Invalid task search query.");
        expect(fieldsOf(refused), q).to.deep.equal(["q"]);
      }
    });

    it("by readers only", async () => {
      const { task } = await stage.active(ada);
      const stranger = the().as(await the().user("eve"));
      for (const answer of [
        await stranger.get(`${tasks}/${ada.id}/${task.id}`),
        await act(task.id, "pause", undefined, stranger),
        await act(task.id, "send", { input: "Hi" }, stranger),
        await stranger.delete(`${tasks}/me/${task.id}`),
      ])
        expect(answer.status).to.equal(404);
      expect((await stranger.get(tasks)).body).to.deep.equal({ count: 0, tasks: [] });
      const owner = the().as(the().owner);
      expect((await owner.get(`${tasks}/me/${task.id}`)).status).to.equal(200);
      expect((await act(task.id, "send", { input: "Hi" }, owner)).status).to.equal(403);
      expect((await owner.get(`${tasks}/me/${task.id}/logs`)).body).to.deep.equal({ logs: [], snapshot: true });
      expect(program.inputs).to.not.include("Hi");
    });
  });

  describe("report states", () => {
    /** Lets a user be told about the states of tasks, which users are not by default. */
    const follow = async () => {
      const preferences = { template_disabled_map: {} as Record<string, boolean> };
      const { body: templates } = await as.get("/api/v2/notifications/templates/system");
      for (const { id, name } of templates) if (name.startsWith("Task ")) preferences.template_disabled_map[id] = false;
      await as.put(`/api/v2/users/me/notifications/preferences`, preferences);
    };
    /** The titles in the inbox about a task. */
    const told = async (id: string): Promise<string[]> =>
      (await as.get(`/api/v2/notifications/inbox?targets=${id}`)).body.notifications.map(
        ({ title }: { title: string }) => title,
      );

    it("of which the first after a start is news unless it is that the program works", async () => {
      await follow();
      for (const [state, news] of [
        ["WORKING", undefined],
        ["IDLE", "is waiting for input"],
        ["COMPLETE", "is complete"],
        ["FAILURE", "failed"],
      ] as const) {
        const { task, token } = await stage.active(ada);
        await stage.status(token, state);
        const titles = news === undefined ? [] : [`Task ${task.name} ${news}`];
        expect(await told(task.id), state).to.deep.equal(titles);
        await stage.status(token, state);
        expect(await told(task.id), `${state} again`).to.deep.equal(titles);
        if (news === undefined) continue;
        await stage.status(token, "WORKING");
        expect(await told(task.id), `work after ${state}`).to.deep.equal([`Task ${task.name} is working`, ...titles]);
      }
    });

    it("only once the agent is ready", async () => {
      await follow();
      const task = await stage.create(ada);
      const token = (await stage.carryOut())!;
      await stage.lifecycle(token, "STARTING");
      await stage.status(token, "IDLE");
      expect(await told(task.id)).to.deep.equal([]);
      await stage.lifecycle(token, "READY");
      await stage.status(token, "FAILURE");
      expect(await told(task.id)).to.deep.equal([`Task ${task.name} failed`]);
    });

    it("that the owner is told about when they change", async () => {
      await follow();
      const { task, token } = await stage.active(ada);
      for (const state of ["WORKING", "IDLE", "IDLE", "FAILURE"]) await stage.status(token, state, `Now ${state}`);
      expect((await read(task.id)).current_state).to.include({ state: "failed", message: "Now FAILURE" });
      const { body } = await as.get("/api/v2/notifications/inbox");
      const titles = body.notifications.map(({ title }: { title: string }) => title);
      expect(titles.filter((title: string) => title.includes("is waiting"))).to.have.length(1);
      expect(titles.filter((title: string) => title.includes("failed"))).to.have.length(1);
      expect(titles.filter((title: string) => title.includes("is working"))).to.have.length(0);
    });
  });

  describe("are deleted", () => {
    it("immediately, also while no daemon has taken the start", async () => {
      const task = await stage.create(ada, { name: "short-lived" });
      const check = { action: "read", object: { resource_type: "task", resource_id: task.id } };
      const isReadable = async () => (await as.post("/api/v2/authcheck", { checks: { check } })).body.check;
      expect(await isReadable()).to.equal(true);
      const removed = await as.delete(`${tasks}/me/${task.id}`);
      expect(removed, JSON.stringify(removed.body)).to.include({ status: 202, body: "" });
      expect((await as.get(`${tasks}/me/${task.id}`)).status).to.equal(404);
      expect((await as.delete(`${tasks}/me/${task.id}`)).status).to.equal(404);
      expect(await isReadable()).to.equal(false);
      const body = { template_version_id: stage.versionId, name: "short-lived" };
      expect((await as.post(`${tasks}/me`, body)).status).to.equal(409);
      await stage.carryOut();
      const again = await as.post(`${tasks}/me`, body);
      expect(again, JSON.stringify(again.body)).to.include({ status: 201 });
      await stage.carryOut();
    });

    it("not while a build runs", async () => {
      const task = await stage.create(ada);
      const job = await stage.next();
      await stage.daemon.call("acceptProvisionerJob", job);
      expect((await as.delete(`${tasks}/me/${task.id}`)).status).to.equal(409);
      await stage.report(job);
      await stage.daemon.call("completeProvisionerJob", job);
      expect((await as.delete(`${tasks}/me/${task.id}`)).status).to.equal(202);
      await stage.carryOut();
    });
  });

  it("are not created, resumed or sent to while the AI budget of their owner is spent", async () => {
    await inOneMonth();
    const { task } = await stage.active(ada);
    const owner = the().as(the().owner);
    const group = await the().group(undefined, { members: [ada] });
    await owner.put(`/api/v2/groups/${group.id}/ai/budget`, { spend_limit_micros: 100 });
    await owner.graphql(`mutation($input: RecordAiUsageInput!) { recordAiUsage(input: $input) { __typename } }`, {
      input: { organization: "default", entries: [{ id: newId(), userId: ada.id, amountMicros: 100 }] },
    });
    for (const refused of [
      await as.post(`${tasks}/me`, { template_version_id: stage.versionId }),
      await owner.post(`${tasks}/${ada.id}`, { template_version_id: stage.versionId }),
      await act(task.id, "send", { input: "Hi" }),
    ]) {
      expect(refused, JSON.stringify(refused.body)).to.include({ status: 403 });
      expect(refused.body.message).to.equal("The AI budget is exhausted.");
    }
    await owner.delete(`/api/v2/groups/${group.id}/ai/budget`);
    expect((await act(task.id, "send", { input: "Hi again" })).status).to.equal(204);
  });

  it("give their owner an AI seat for the month", async () => {
    await inOneMonth();
    await stage.create(ada);
    await stage.carryOut();
    expect((await as.graphql("{ me { hasAiSeat } }")).me.hasAiSeat).to.equal(true);
  });

  it("can be followed over a socket", async () => {
    const task = await stage.create(ada);
    const client = createClient({
      url: `${the().url.replace("http", "ws")}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: ada.token },
    });
    const statuses: string[] = [];
    const query = "subscription($id: UUID) { taskChanged(id: $id) { status } }";
    const ended = (async () => {
      for await (const { data } of client.iterate<{ taskChanged: { status: string } }>({
        query,
        variables: { id: task.id },
      }))
        statuses.push(data!.taskChanged.status);
    })();
    await eventually(() => statuses.at(-1) === "PENDING", "the first state");
    const token = (await stage.carryOut())!;
    await eventually(() => statuses.at(-1) === "INITIALIZING", "the start");
    await stage.ready(token);
    await eventually(() => statuses.at(-1) === "ACTIVE", "the program");
    await as.delete(`${tasks}/me/${task.id}`);
    await ended;
    await client.dispose();
    await stage.carryOut();
  });
});
