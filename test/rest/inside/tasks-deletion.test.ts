// Tasks that are deleted while a build of their workspace runs, and workspaces whose daemon is gone.
// Looks inside: builds of deleted workspaces are shown nowhere.
import { expect } from "chai";
import { boxOf, createBox, remove, runningBox, stop, templateOf } from "../../support/builds.js";
import { type TaskStage, withTasks } from "../../support/tasks.js";
import { eventually } from "../../support/watchers.js";
import { type Anything, type Person, sharedWorld } from "../../support/world.js";

const tasks = "/api/v2/tasks";
const deleteTask = `mutation($input: DeleteTaskInput!) { deleteTask(input: $input) { task { id status } } }`;

const shared = sharedWorld();

describe("the deletion of a task during a build", () => {
  const the = shared();
  let stage: TaskStage;
  let ada: Person;

  withTasks(the, (opened) => ({ stage } = opened));
  beforeEach(async () => {
    ada = await the().user("ada");
  });
  afterEach(() => stage.check());

  const as = (person: Pick<Person, "token">) => the().as(person);
  const drop = (task: Anything, by: Pick<Person, "token"> = ada) =>
    as(by).graphql(deleteTask, { input: { task: task.id, duringBuild: true } });
  /** The builds of the workspace of a task, the latest first. */
  const buildsOf = async (task: Anything) => {
    const { rows } = await the().app.services.database.pool.query(
      `select b.transition, j.status, u.username as initiator from workspace_builds b
       join provisioner_jobs j on j.id = b.job_id join users u on u.id = b.initiator_id
       where b.workspace_id = $1 order by b.build_number desc`,
      [task.workspace_id.uuid],
    );
    return rows;
  };
  const running = async () => {
    const task = await stage.create(ada);
    const job = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", job);
    return { task, job };
  };
  const isGone = async (task: Anything) => {
    expect((await as(ada).get(`${tasks}/me/${task.id}`)).status).to.equal(404);
    const query = `{ workspace(id: "${task.workspace_id.uuid}") { id } }`;
    expect((await as(ada).failure(query)).code).to.equal("NOT_FOUND");
  };

  it("conflicts, unless the caller requests it; then the build is canceled, and the workspace deleted", async () => {
    const { task, job } = await running();
    expect((await as(ada).delete(`${tasks}/me/${task.id}`)).status).to.equal(409);
    const input = { task: task.id };
    expect((await as(ada).failure(deleteTask, { input })).code).to.equal("CONFLICT");
    const { deleteTask: deleted } = await drop(task);
    expect(deleted.task).to.deep.equal({ id: task.id, status: "INITIALIZING" });
    expect((await as(ada).get(`${tasks}/me/${task.id}`)).status, "immediately").to.equal(404);
    await eventually(
      () =>
        stage.daemon.events.some(
          (each) => each.__typename === "ProvisionerJobCancelRequested" && each.jobId === job.jobId,
        ),
      "the daemon is told",
    );
    await stage.daemon.call("failProvisionerJob", job, { error: "Stopped.", canceled: true });
    expect(await buildsOf(task)).to.deep.equal([
      { transition: "delete", status: "pending", initiator: "system" },
      { transition: "start", status: "canceled", initiator: ada.username },
    ]);
    await stage.carryOut();
    await isGone(task);
    expect((await as(ada).failure(deleteTask, { input })).code).to.equal("NOT_FOUND");
  });

  it("also deletes the workspace if the build fails, succeeds, or is a pause", async () => {
    const failed = await running();
    await drop(failed.task);
    await stage.daemon.call("failProvisionerJob", failed.job, { error: "No machine is free." });
    await stage.carryOut();
    await isGone(failed.task);
    const titles = (await as(ada).get("/api/v2/notifications/inbox")).body.notifications.map(
      ({ title }: Anything) => title,
    );
    expect(titles, "only the deletion is news").to.deep.equal([`Workspace ${failed.task.name} was deleted`]);

    const late = await running();
    await stage.report(late.job);
    await drop(late.task);
    await stage.daemon.call("completeProvisionerJob", late.job);
    expect((await buildsOf(late.task))[0]).to.include({ transition: "delete" });
    await stage.carryOut();
    await isGone(late.task);

    const { task } = await stage.active(ada);
    await as(ada).post(`${tasks}/me/${task.id}/pause`);
    const pause = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", pause);
    await drop(task);
    await stage.report(pause);
    await stage.daemon.call("completeProvisionerJob", pause);
    await stage.carryOut();
    await isGone(task);
  });

  it("cancels nothing that the caller may not cancel, and is for those who may delete the task", async () => {
    const allow = `mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { __typename } }`;
    const settings = { templateId: stage.templateId, allowUserCancel: false };
    await as(the().owner).graphql(allow, { input: settings });
    const { task, job } = await running();
    const eve = await the().user("eve");
    expect((await drop(task, eve).catch((error) => error.code)) as string).to.equal("NOT_FOUND");
    const narrow = await the().scoped(ada, "task:read");
    expect((await drop(task, narrow).catch((error) => error.code)) as string).to.equal("FORBIDDEN");
    expect((await as(ada).get(`${tasks}/me/${task.id}`)).status).to.equal(200);
    await drop(task);
    expect((await buildsOf(task))[0]).to.include({ transition: "start", status: "running" });
    await as(the().owner).graphql(allow, { input: { ...settings, allowUserCancel: true } });
    await stage.report(job);
    await stage.daemon.call("completeProvisionerJob", job);
    await stage.carryOut();
    await isGone(task);
  });

  it("happens once if the build ends at the same time, and begins one deletion", async () => {
    for (let round = 0; round < 5; round++) {
      const { task, job } = await running();
      await stage.report(job);
      const [removed] = await Promise.all([drop(task), stage.daemon.call("completeProvisionerJob", job)]);
      expect(removed.deleteTask.task.id).to.equal(task.id);
      const builds = await buildsOf(task);
      expect(builds.map(({ transition }) => transition)).to.deep.equal(["delete", "start"]);
      await stage.carryOut();
      await isGone(task);
    }
  });

  it("leaves the workspace if its deletion fails, which can then be started again", async () => {
    const { task, job } = await running();
    await drop(task);
    await stage.daemon.call("failProvisionerJob", job, { error: "Stopped.", canceled: true });
    const removal = await stage.next();
    await stage.daemon.call("acceptProvisionerJob", removal);
    await stage.daemon.call("failProvisionerJob", removal, { error: "The disk is in use." });
    const workspace = task.workspace_id.uuid;
    const start = `mutation { startWorkspace(input: { workspace: "${workspace}" }) { workspaceBuild { transition } } }`;
    await as(ada).graphql(start);
    await stage.carryOut();
    expect((await buildsOf(task)).map(({ transition }) => transition)).to.deep.equal(["start", "delete", "start"]);
  });
});

describe("the deletion of a workspace whose daemon is gone", () => {
  const the = shared();

  it("needs no daemon for an orphan, also while a build waits for the one that is gone", async () => {
    const [ada] = await the().users("ada");
    const template = await templateOf(the(), boxOf());
    const { workspace } = await runningBox(the(), ada!, template.id);
    const as = the().as(ada!);
    const owner = the().as(the().owner);
    await as.graphql(stop, { workspace: workspace.id });
    const variables = { workspace: workspace.id, orphan: true };
    expect((await as.failure(remove, variables)).code, "not for the owner of the workspace").to.equal("FORBIDDEN");
    const { workspace: waiting } = await as.graphql(`{ workspace(id: "${workspace.id}") { status } }`);
    expect(waiting.status, "whose attempt cancels nothing").to.equal("PENDING");
    expect((await owner.failure(remove, { workspace: workspace.id })).code).to.equal("CONFLICT");

    const { deleteWorkspace } = await owner.graphql(remove, variables);
    expect(deleteWorkspace.workspaceBuild).to.include({ status: "DELETED" });
    expect((await as.failure(`{ workspace(id: "${workspace.id}") { id } }`)).code).to.equal("NOT_FOUND");
    await createBox(the(), ada!, template.id, { name: workspace.name });
    const { auditEvents } = await owner.graphql(
      `{ auditEvents(filter: { resourceType: "provisioner_job", action: UPDATE }, first: 2) { nodes { diff } } }`,
    );
    expect(auditEvents.nodes.map(({ diff }) => diff.status.new)).to.include("canceled");
  });
});
