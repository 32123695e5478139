// Why tasks and builds fail: what their owners, their readers, and the administrators of their templates are told.
// Looks inside: the jobs that notice overdue jobs and lost machines run minutes apart, which no test waits for.
import { expect } from "chai";
import { lostMachines, noticeLostMachines } from "../../../src/domain/tasks/lost-machines.js";
import { withTimeLeft } from "../../support/clock.js";
import type { AgentProgram } from "../../support/agent-api.js";
import { prebuild, runJob, runSchedule } from "../../support/background.js";
import {
  boxOf,
  createBox,
  doBuild,
  endBuild,
  runningBox,
  setTemplate,
  start,
  stop,
  templateOf,
} from "../../support/builds.js";
import { changeBesideJobs } from "../../support/locks.js";
import { type TaskStage, withTasks } from "../../support/tasks.js";
import { endImport, makeTemplate } from "../../support/templates.js";
import { watch } from "../../support/agents.js";
import { eventually } from "../../support/watchers.js";
import { type Anything, type Person, world } from "../../support/world.js";

const tasks = "/api/v2/tasks";

describe("the reason of a failure", () => {
  const the = world();
  let program: AgentProgram;
  let stage: TaskStage;
  /** The owner of tasks and workspaces, an administrator of templates, and another user. */
  let [ada, tina, eve]: Person[] = [];

  withTasks(the, (opened) => ({ stage, program } = opened));
  beforeEach(async () => {
    [ada, tina, eve] = await the().users("ada", "tina", "eve");
    await the().grant(tina!, "template-admin");
  });

  const sql = (text: string, ...values: unknown[]) => the().app.services.database.pool.query(text, values);
  const as = (person: Pick<Person, "token">) => the().as(person);
  const read = async (id: string, person: Pick<Person, "token"> = ada!) =>
    (await as(person).get(`${tasks}/me/${id}`)).body;
  /** The titles and texts in an inbox, the newest first. */
  const inbox = async (person: Pick<Person, "token">): Promise<Array<{ title: string; content: string }>> => {
    const { body } = await as(person).get("/api/v2/notifications/inbox");
    return body.notifications.map(({ title, content }: Anything) => ({
      title,
      content: content.replace(/\\(.)/g, "$1"),
    }));
  };

  /** Creates a task whose start fails. */
  async function failedTask(error: string) {
    const task = await stage.create(ada!);
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    await stage.daemon.call("failProvisionerJob", job, { error });
    return task;
  }

  /** Checks that both surfaces, and the inbox of the owner, say why a task is in error. */
  async function expectReason(id: string, message: string): Promise<void> {
    const task = await read(id);
    expect(task).to.deep.include({ status: "error" });
    expect(task.current_state).to.include({ state: "failed", message, uri: "" });
    const { body } = await as(ada!).get(tasks);
    expect(body.tasks.find((each: Anything) => each.id === id).current_state.message).to.equal(message);
    const { task: seen } = await as(ada!).graphql(
      `{ task(task: "${id}") { status currentState { state message timestamp } } }`,
    );
    expect(seen).to.deep.equal({
      status: "ERROR",
      currentState: { state: "FAILED", message, timestamp: task.current_state.timestamp },
    });
    for (const refused of [
      await as(ada!).get(`${tasks}/me/${id}/logs`),
      await as(ada!).post(`${tasks}/me/${id}/send`, { input: "Hi" }),
    ]) {
      expect(refused.status).to.equal(409);
      expect(refused.body.message).to.match(/^The task is in error\. /);
      expect(refused.body.detail).to.equal(message);
    }
  }

  describe("of a task", () => {
    it("is shown by its state, by its logs, and in the inbox of its owner, if a build fails", async () => {
      const { id, name } = await failedTask("No machine is free.");
      const message = "The build of the workspace failed: No machine is free.";
      await expectReason(id, message);
      const [told] = await inbox(ada!);
      expect(told).to.deep.equal({
        title: `Task ${name} is in error`,
        content: `The task **${name}** in the workspace **${name}** is in error:\n\n${message}`,
      });
      expect((await inbox(ada!)).length, "once").to.equal(1);
      const titles = (await inbox(tina!)).map(({ title }) => title);
      expect(titles, "administrators are told about the template").to.deep.equal([`Build of workspace ${name} failed`]);
      expect(await inbox(eve!)).to.deep.equal([]);

      const owner = await read(id, the().owner);
      expect(owner.current_state).to.include({ state: "failed", message });
      expect((await as(eve!).get(`${tasks}/me/${id}`)).status).to.equal(404);
      const narrow = as(await the().scoped(ada!, "task:read"));
      expect((await narrow.get(`${tasks}/me/${id}`)).body.current_state).to.include({ message });
      const other = as(await the().scoped(ada!, "workspace:read"));
      expect((await other.get(`${tasks}/me/${id}`)).status).to.equal(403);
      const failed = await other.failure(`{ task(task: "${id}") { currentState { message } } }`);
      expect(failed.code).to.equal("FORBIDDEN");

      await as(ada!).post(`${tasks}/me/${id}/resume`);
      expect((await read(id)).current_state, "a retry has no reason").to.equal(null);
      await stage.ready((await stage.carryOut())!);
      expect(await read(id)).to.include({ status: "active" });
    });

    it("says what the build costs and what is left, if it exceeds the quota", async () => {
      const version = await newVersion(costing(program.url, 5));
      const task = await stage.create(ada!, { template_version_id: version });
      const job = await stage.next();
      await stage.daemon.call("acceptProvisionerJob", job);
      const refusal = await stage.report(job).catch((error) => error);
      expect(refusal.reason).to.equal("QUOTA_EXCEEDED");
      await expectReason(
        task.id,
        "The build of the workspace failed: The build exceeds the workspace quota of the owner. It costs 5 credits a day. The budget is 0, of which other workspaces consume 0.",
      );
      const { content } = (await inbox(ada!))[0]!;
      expect(content).to.match(/The budget is 0, of which other workspaces consume 0\.$/);
      const { workspace } = await as(ada!).graphql(
        `{ workspace(id: "${task.workspace_id.uuid}") { latestBuild { job { error errorCode } } } }`,
      );
      expect(workspace.latestBuild.job).to.include({ errorCode: "INSUFFICIENT_QUOTA" });
      expect(workspace.latestBuild.job.error).to.match(/^The build exceeds the workspace quota/);
    });

    it("says why no daemon took the build: none matches, all are offline, or all were busy", async () => {
      const waited = "No provisioner daemon accepted the job in time";
      const cases = [
        ["", "those that could take it were busy, or did not respond."],
        [
          `update provisioner_daemons set last_seen_at = now() - interval '5 minutes'`,
          "those that could take it are offline.",
        ],
        [
          `update provisioner_jobs set tags = tags || '{"gpu": "yes"}' where status = 'pending'`,
          'none of the organization offers "stage" with the tags gpu=yes.',
        ],
      ] as const;
      for (const [change, why] of cases) {
        const task = await stage.create(ada!);
        // The job is assigned to the daemon, which does not accept it.
        await stage.next();
        const late =
          "update provisioner_jobs set created_at = now() - interval '31 minutes', worker_id = null, lease_hash = null, lease_expires_at = null where status = 'pending'";
        // Its next pong would say that it is online.
        stage.daemon.socket.pause();
        // In one transaction, since the server runs the same job.
        await sql(change ? `${change}; ${late}` : late);
        await runJob(the().app, "jobReaper");
        await sql("update provisioner_daemons set last_seen_at = now()");
        stage.daemon.socket.resume();
        await expectReason(task.id, `The build of the workspace failed: ${waited}: ${why}`);
        expect((await inbox(ada!))[0]!.content).to.include(why);
        const { workspace } = await as(ada!).graphql(
          `{ workspace(id: "${task.workspace_id.uuid}") { latestBuild { job { logs { nodes { output } } } } } }`,
        );
        expect(workspace.latestBuild.job.logs.nodes).to.deep.equal([{ output: `${waited}: ${why}` }]);
      }
    });

    it("is an unhealthy app or a canceled build, unless the program has reported since", async () => {
      const { task, token } = await stage.active(ada!);
      await stage.status(token, "WORKING", "Compiling");
      await stage.health(token, "UNHEALTHY");
      await expectReason(task.id, "The app of the task is unhealthy.");
      await stage.status(token, "IDLE", "Still here");
      expect((await read(task.id)).current_state).to.include({ state: "idle", message: "Still here" });
      await stage.health(token, "HEALTHY");
      expect((await read(task.id)).current_state).to.include({ state: "idle", message: "Still here" });

      await as(ada!).post(`${tasks}/me/${task.id}/pause`);
      const job = await stage.next();
      await stage.daemon.call("acceptProvisionerJob", job);
      await as(ada!).graphql(`mutation { cancelProvisionerJob(input: { job: "${job.jobId}" }) { __typename } }`);
      await expectReason(task.id, "The build of the workspace is being canceled.");
      await stage.daemon.call("failProvisionerJob", job, { error: "Stopped.", canceled: true });
      await expectReason(task.id, "The build of the workspace was canceled.");
    });
  });

  describe("of a task whose program fails", () => {
    const errors = async ({ name }: Anything) =>
      (await inbox(ada!))
        .filter(({ title }) => title === `Task ${name} is in error`)
        .map(({ content }) => content.split("\n\n")[1]);

    it("is what the agent reports of it, and is told once for each start", async () => {
      const { task, token } = await stage.active(ada!);
      await stage.status(token, "FAILURE", "The command ended with status 3: Out of tokens");
      expect(await errors(task), "the task is active").to.deep.equal([]);
      await stage.health(token, "UNHEALTHY");
      const message = "The command ended with status 3: Out of tokens";
      await expectReason(task.id, message);
      expect(await errors(task)).to.deep.equal([message]);
      await stage.health(token, "HEALTHY");
      await stage.health(token, "UNHEALTHY");
      await stage.status(token, "FAILURE", message);
      expect(await errors(task)).to.deep.equal([message]);
      expect(await inbox(eve!)).to.deep.equal([]);

      await as(ada!).post(`${tasks}/me/${task.id}/pause`);
      await stage.carryOut();
      await as(ada!).post(`${tasks}/me/${task.id}/resume`);
      const next = (await stage.carryOut())!;
      await stage.ready(next);
      await stage.status(next, "FAILURE", "Again");
      await stage.health(next, "UNHEALTHY");
      expect(await errors(task)).to.deep.equal(["Again", message]);
    });

    it("is told also if it comes after the app was found unhealthy, of which its owner is told once", async () => {
      const { task, token } = await stage.active(ada!);
      await stage.health(token, "UNHEALTHY");
      await stage.health(token, "HEALTHY");
      await stage.health(token, "UNHEALTHY");
      expect(await errors(task)).to.deep.equal(["The app of the task is unhealthy."]);
      await stage.status(token, "FAILURE", "Out of tokens");
      expect(await errors(task)).to.deep.equal(["Out of tokens", "The app of the task is unhealthy."]);
      await expectReason(task.id, "Out of tokens");
    });

    it("is told once the agent is ready", async () => {
      const task = await stage.create(ada!);
      const token = (await stage.carryOut())!;
      await stage.lifecycle(token, "STARTING");
      await stage.status(token, "FAILURE", "Out of tokens");
      await stage.health(token, "UNHEALTHY");
      expect(await errors(task)).to.deep.equal([]);
      await stage.lifecycle(token, "READY");
      expect(await errors(task)).to.deep.equal(["Out of tokens"]);
    });

    it("is not told while the workspace is being stopped", async () => {
      const { task, token } = await stage.active(ada!);
      await as(ada!).post(`${tasks}/me/${task.id}/pause`);
      await stage.health(token, "UNHEALTHY");
      await stage.status(token, "FAILURE", "Ended");
      await stage.carryOut();
      expect(await errors(task)).to.deep.equal([]);
    });
  });

  describe("of a task whose machine is gone", () => {
    /** An active task whose agent is connected, and the agent's id. */
    async function connected() {
      const { task, token } = await stage.active(ada!);
      await beat(token);
      const { workspace_agent_id: agent } = await read(task.id);
      return { task, token, agent: agent.uuid as string };
    }
    const beat = (token: string) => stage.agent(token).graphql("mutation { agentHeartbeat { shutdown } }");
    const silentFor = (agent: string, seconds: number) =>
      sql(
        "update workspace_agents set last_connected_at = now() - make_interval(secs => $2) where id = $1",
        agent,
        seconds,
      );
    const notice = () => noticeLostMachines(the().app.services);
    const lost = "The agent of the workspace does not respond. Its machine may be gone.";

    it("is told once, to watchers and to the owner, until the agent is back", async () => {
      const { task, token, agent } = await connected();
      const changed = `subscription { taskChanged(id: "${task.id}") { status currentState { message } } }`;
      const watcher = watch(the(), as(ada!), changed);
      const statuses = () => watcher.events.map(({ status }) => status);
      await eventually(() => statuses().at(-1) === "ACTIVE", "the watcher sees the task");
      // Once more if the machine took the time that was left, after which the agent has been silent for too long.
      let found: Anything;
      for (let since = 0; since === 0 || Date.now() - since > 4_000;) {
        since = Date.now();
        await beat(token);
        await silentFor(agent, 25);
        await notice();
        found = await read(task.id);
      }
      expect(found).to.include({ status: "active" });
      await silentFor(agent, 31);
      // As two replicas do.
      await Promise.all([notice(), notice()]);
      await expectReason(task.id, lost);
      await eventually(() => statuses().at(-1) === "ERROR", "the watcher is told");
      expect(watcher.events.at(-1).currentState.message).to.equal(lost);
      const errors = async () => (await inbox(ada!)).filter(({ title }) => title === `Task ${task.name} is in error`);
      expect((await errors()).map(({ content }) => content)).to.deep.equal([
        `The task **${task.name}** in the workspace **${task.name}** is in error:\n\n${lost}`,
      ]);
      const listed = await as(ada!).get(`${tasks}?q=${encodeURIComponent("owner:me status:error")}`);
      expect(listed.body.tasks.map((each: Anything) => each.id)).to.deep.equal([task.id]);

      await beat(token);
      await eventually(() => statuses().at(-1) === "ACTIVE", "the watcher is told that it is back");
      expect(await read(task.id)).to.include({ status: "active" });
      await silentFor(agent, 31);
      await notice();
      expect(await read(task.id)).to.include({ status: "error" });
      expect(await errors(), "once for each start").to.have.length(1);
      watcher.close();

      expect((await as(ada!).post(`${tasks}/me/${task.id}/pause`)).status, "it can be paused").to.equal(202);
      await stage.carryOut();
      expect(await read(task.id)).to.include({ status: "paused" });
    });

    it("is not said of an agent that has ended its connection itself", async () => {
      const { task, token, agent } = await connected();
      await stage.agent(token).graphql("mutation { disconnectAgent { __typename } }");
      await silentFor(agent, 31);
      await notice();
      await expectReason(task.id, "The agent of the workspace has ended.");
      await beat(token);
      expect(await read(task.id)).to.include({ status: "active" });
      // Otherwise its machine is gone 30 seconds later, and has a wrong status until that is noticed.
      await as(ada!).post(`${tasks}/me/${task.id}/pause`);
      await stage.carryOut();
    });

    it("is found by a job every 10 seconds, but not by a server that has just started", async () => {
      const { task, agent } = await connected();
      const uptime = process.uptime.bind(process);
      try {
        // First, since the server runs the job as well.
        process.uptime = () => 29;
        await silentFor(agent, 31);
        await lostMachines.run(the().app.services);
        expect(await read(task.id), "agents that lost the server come back").to.include({ status: "active" });
        process.uptime = () => 30;
        await lostMachines.run(the().app.services);
      } finally {
        process.uptime = uptime;
      }
      expect(await read(task.id)).to.include({ status: "error" });
      expect(30_000 + lostMachines.every * 1.5, "with the jitter of jobs").to.be.lessThan(60_000);
    });

    it("is not found while the workspace is being stopped, and not of agents that never connected", async () => {
      const { task, agent } = await connected();
      await as(ada!).post(`${tasks}/me/${task.id}/pause`);
      await silentFor(agent, 120);
      await notice();
      expect(await read(task.id), "the last known status").to.include({ status: "active" });
      await stage.carryOut();
      await notice();
      expect(await read(task.id)).to.include({ status: "paused" });

      const { task: other } = await stage.active(ada!);
      await sql("update workspace_agents set created_at = now() - interval '1 hour'");
      await notice();
      expect(await read(other.id)).to.include({ status: "active" });
      expect(await inbox(ada!)).to.not.deep.include({ title: `Task ${other.name} is in error` });
    });
  });

  describe("of a workspace without a task", () => {
    it("is told to its owner, also if another user started the build", async () => {
      const template = await templateOf(the(), boxOf());
      const { workspace } = await runningBox(the(), ada!, template.id);
      const { stopWorkspace } = await as(the().owner).graphql(stop, { workspace: workspace.id });
      await endBuild(the(), stopWorkspace.workspaceBuild.id, "failed", {}, "The disk is full.");
      expect(await inbox(ada!)).to.deep.equal([
        {
          title: `Your workspace ${workspace.name} failed to stop`,
          content: `Your workspace **${workspace.name}** failed to stop, as **${the().owner.username}** requested:\n\nThe disk is full.\n\nThe log of the build says more.`,
        },
      ]);
      expect(await inbox(eve!)).to.deep.equal([]);
      const titles = (await inbox(tina!)).map(({ title }) => title);
      expect(titles).to.deep.equal([`Build of workspace ${workspace.name} failed`]);
    });

    it("is told once if the server started the build, and not if it was canceled", async () => {
      const template = await templateOf(the(), boxOf());
      const { workspace } = await runningBox(the(), ada!, template.id);
      await sql("update workspaces set deadline = now() - interval '1 minute' where id = $1", workspace.id);
      await runSchedule(the().app, "stop");
      const { workspace: stopping } = await as(ada!).graphql(
        `{ workspace(id: "${workspace.id}") { latestBuild { id reason } } }`,
      );
      expect(stopping.latestBuild.reason).to.equal("AUTOSTOP");
      await endBuild(the(), stopping.latestBuild.id, "failed", {}, "The disk is full.");
      const titles = async () => (await inbox(ada!)).map(({ title }) => title);
      expect(await titles()).to.deep.equal([`Automatic build of workspace ${workspace.name} failed`]);
      const { startWorkspace } = await as(ada!).graphql(start, { input: { workspace: workspace.id } });
      await endBuild(the(), startWorkspace.workspaceBuild.id, "canceled");
      expect(await titles()).to.have.length(1);
    });

    it("says what the quota is", async () => {
      const template = await templateOf(the(), boxOf(3));
      const { workspaceBuild, workspace } = await createBox(the(), ada!, template.id);
      expect(await doBuild(the(), workspaceBuild.id)).to.equal(undefined);
      expect((await inbox(ada!))[0]!.title).to.equal(`Your workspace ${workspace.name} failed to start`);
    });
  });

  describe("of prebuilt workspaces", () => {
    it("is told to the administrators of the template when it happens, once an hour for each version", async () => {
      const presets = ["big", "small"].map((name) => ({ name, prebuilds: { instances: 1 } }));
      const { id, name } = await makeTemplate(the(), { name: "prebuilt", document: boxOf(0, { presets }) });
      const fail = async (error: string) => {
        await prebuild(the().app);
        const { rows } = await sql(
          "select latest_build_id as build from workspaces where template_id = $1 and latest_status = 'pending' and latest_transition = 'start'",
          id,
        );
        expect(rows).to.have.length(2);
        for (const { build } of rows) await endBuild(the(), build, "failed", {}, error);
      };
      const told = async (person: Person = tina!) =>
        (await inbox(person)).filter(({ title }) => title.startsWith("Prebuilding") && title.endsWith("failed"));
      // The first three failures must be in the same hour, by which messages are counted.
      await withTimeLeft(3_600_000, 60_000);
      await fail("No machine is free.");
      expect(await told(), "once for both presets").to.have.length(1);
      expect((await told())[0]!.title).to.match(new RegExp(`^Prebuilding (big|small) of ${name} failed$`));
      expect((await told())[0]!.content).to.include("**v1**:\n\nNo machine is free.\n\n");
      await fail("Another reason.");
      expect(await told(), "once an hour").to.have.length(1);
      await changeBesideJobs(
        the().app,
        "update notification_messages set dedupe_key = dedupe_key || ', long ago' where dedupe_key like '% 20%'",
      );
      await fail("A third reason.");
      expect((await told())[0]!.content).to.include("A third reason.");
      expect(await told()).to.have.length(2);

      const input = { templateId: id, document: boxOf(0, { presets }), activate: true };
      const { createTemplateVersion } = await as(the().owner).graphql(
        `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
        { input },
      );
      await endImport(the(), createTemplateVersion.templateVersion.id);
      await fail("A new version.");
      expect((await told())[0]!.content).to.include("**v2**:\n\nA new version.");
      expect(await told()).to.have.length(3);
      for (const person of [ada!, eve!]) expect(await inbox(person)).to.deep.equal([]);
      await setTemplate(the(), id, { active_version_id: null });
    });
  });

  /** Imports a version of the template of the stage. Returns its id. */
  async function newVersion(document: object): Promise<string> {
    const input = {
      templateId: stage.templateId,
      document: {
        schema: "steward.template/1",
        provisioner: "stage",
        ai_task: { agent: "main", app: "chat" },
        ...document,
      },
    };
    const { createTemplateVersion } = await as(the().owner).graphql(
      `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
      { input },
    );
    await stage.carryOut();
    return createTemplateVersion.templateVersion.id;
  }
});

describe("the failure of a prebuilt workspace is told", () => {
  const the = world();
  const as = (person: Pick<Person, "token">) => the().as(person);

  /** Makes a template, and has the prebuilding of a workspace of it fail. Returns its id and the title of the notification. */
  async function failing(by: Pick<Person, "token"> = the().owner, share?: (id: string) => Promise<unknown>) {
    const document = boxOf(0, { presets: [{ name: "big", prebuilds: { instances: 1 } }] });
    const { id, name } = await makeTemplate(the(), { document }, { by });
    await share?.(id);
    await prebuild(the().app);
    const { rows } = await the().app.services.database.pool.query(
      "select latest_build_id as build from workspaces where template_id = $1 and latest_status = 'pending'",
      [id],
    );
    expect(rows).to.have.length(1);
    await endBuild(the(), rows[0].build, "failed", {}, "No machine is free.");
    await setTemplate(the(), id, { active_version_id: null });
    return `Prebuilding big of ${name} failed`;
  }
  const heard = async (title: string, ...people: Array<Pick<Person, "token">>): Promise<boolean[]> =>
    Promise.all(
      people.map(async (person) => {
        const { body } = await as(person).get("/api/v2/notifications/inbox");
        return body.notifications.some((each: Anything) => each.title === title);
      }),
    );

  it("to the owners of the deployment, if no other user looks after the template", async () => {
    const [creator, other, ada] = await the().users("creator", "other", "ada");
    await the().grant(other!, "owner");
    await the().grant(creator!, "template-admin");
    const title = await failing(creator, () => the().grant(creator!));
    expect(await heard(title, the().owner, other!, creator!, ada!)).to.deep.equal([true, true, false, false]);
    await the().grant(other!);
  });

  it("to its creator, and not to other owners", async () => {
    const [other] = await the().users("other");
    await the().grant(other!, "owner");
    expect(await heard(await failing(), the().owner, other!)).to.deep.equal([true, false]);
    await the().grant(other!);
  });

  it("to users who administer it by its access list, alone or in a group, and to administrators of templates", async () => {
    const [alone, member, user, stranger, tina] = await the().users("alone", "member", "user", "stranger", "tina");
    await the().grant(tina!, "template-admin");
    const title = await failing(tina, async (templateId) => {
      const { createGroup } = await as(the().owner).graphql(
        `mutation { createGroup(input: { organization: "default", name: "keepers" }) { group { id } } }`,
      );
      const group = createGroup.group.id;
      const added = await as(the().owner).patch(`/api/v2/groups/${group}`, { add_users: [member!.id] });
      expect(added.status).to.equal(200);
      const userPerms = [
        { id: alone!.id, role: "admin" },
        { id: user!.id, role: "use" },
      ];
      await as(the().owner).graphql(
        `mutation($input: UpdateTemplateAclInput!) { updateTemplateAcl(input: $input) { __typename } }`,
        { input: { templateId, userPerms, groupPerms: [{ id: group, role: "admin" }] } },
      );
    });
    expect(await heard(title, alone!, member!, tina!, user!, stranger!, the().owner)).to.deep.equal([
      true,
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

/** Resources of a task that cost credits. */
const costing = (url: string, cost: number) => ({
  resources: [
    {
      name: "box",
      daily_cost: cost,
      agents: [
        {
          name: "main",
          os: "linux",
          arch: "amd64",
          apps: [{ slug: "chat", url, healthcheck: { url: `${url}/status` } }],
        },
      ],
    },
  ],
});
