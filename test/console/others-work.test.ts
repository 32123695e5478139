// Workspaces and tasks of other users in the console, which offers no more than what the server lets one do.
// Looks inside: workspaces that are stopped, without their builds.
import { expect } from "chai";
import { AgentProgram } from "../support/agent-api.js";
import { boxOf, templateOf } from "../support/builds.js";
import { consoleTests, echoDocument, externalAgent, importedTemplate } from "../support/console.js";
import { TaskStage } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { insertStopped, insertVersion } from "../support/workspaces.js";
import type { Person } from "../support/world.js";

describe("the console shows work of others", () => {
  const console = consoleTests();
  let program: AgentProgram;
  before(async () => {
    program = await AgentProgram.open();
  });
  after(() => program.close());

  /** Creates an active task, whose agent asks for a permission. Returns its ID, and that of its workspace. */
  async function activeTaskOf(person: Person, name: string) {
    const { world } = console();
    const as = world.as(person);
    const agents = [{ ...externalAgent, apps: [{ slug: "chat", url: program.url }] }];
    const document = echoDocument(agents, { ai_task: { agent: "main", app: "chat" } });
    const templateId = await importedTemplate(world, `of-${name}`, document);
    const { template } = await as.graphql("query($id: UUID!) { template(id: $id) { activeVersion { id } } }", {
      id: templateId,
    });
    const create =
      "mutation($input: CreateTaskInput!) { createTask(input: $input) { task { id workspaceId workspaceName } } }";
    const input = { templateVersionId: template.activeVersion.id, input: "Clean up", displayName: name };
    const { id, workspaceId, workspaceName } = (await as.graphql(create, { input })).createTask.task;
    const built = "query($id: UUID!) { workspace(id: $id) { latestBuild { status } } }";
    const statusOf = async () => (await as.graphql(built, { id: workspaceId })).workspace.latestBuild.status;
    await eventually(async () => (await statusOf()) === "RUNNING", "the first build", 20_000);
    const query = `query($id: UUID!) { externalAgentCredentials(workspaceId: $id, agentName: "main") { agentToken } }`;
    const { externalAgentCredentials } = await as.graphql(query, { id: workspaceId });
    const agent = world.as({ token: externalAgentCredentials.agentToken });
    for (const change of [
      "reportAgentLifecycle(input: { state: STARTING })",
      "reportAgentLifecycle(input: { state: READY })",
      `beginTaskConversation(input: { taskId: "${id}", protocol: ACP })`,
      `reportTaskConversation(input: { taskId: "${id}", state: REQUIRES_ACTION, messages: [
         { key: "1", role: AGENT, writtenAt: "2026-01-02T03:04:05Z", parts: [
           { kind: PERMISSION, requestId: "r", title: "Remove old files", options: [
             { id: "y", name: "Allow it", kind: ALLOW_ONCE }] }] }] })`,
    ])
      await agent.graphql(`mutation { ${change} { __typename } }`);
    return { id: id, workspaceId: workspaceId, workspaceName: workspaceName };
  }

  it("offers administrators who do not enter workspaces neither to talk to their agents nor their credentials", async () => {
    const { world, openAs, asOwner, heading, text, offered, button } = console();
    const ada = await world.user("ada");
    const { id, workspaceId, workspaceName } = await activeTaskOf(ada, "Private");
    await asOwner(`/tasks/${id}`);
    await heading("Private");
    await text("The agent asks for a permission: Remove old files");
    await button("Pause").waitFor();
    expect(await offered()).to.have.members(["Pause", "Delete"]);
    await asOwner(`/workspaces/${workspaceId}`);
    await heading(workspaceName);
    await button("Stop").waitFor();
    expect(await offered()).to.have.members(["Stop", "Restart", "Edit", "Duplicate", "Delete"]);
    await openAs(ada, `/tasks/${id}`);
    for (const name of ["Allow it", "Interrupt", "Send"]) await button(name).waitFor();
    await openAs(ada, `/workspaces/${workspaceId}`);
    for (const name of ["Show how to run it", "Keep secrets out"]) await button(name).waitFor();
  });

  it("lets people with whom a task is shared talk to its agent, and take back only what they sent", async () => {
    const { world, page, openAs, heading, offered, button } = console();
    const [ada, bob] = await world.users("ada", "bob");
    const { id, workspaceId } = await activeTaskOf(ada!, "Lent");
    const share = "mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }";
    const userPerms = [{ id: bob!.id, role: "use" }];
    await world.as(ada!).graphql(share, { input: { workspace: workspaceId, userPerms } });
    program.status = "running";
    const send = "mutation($input: SendTaskInputInput!) { sendTaskInput(input: $input) { __typename } }";
    await world.as(ada!).graphql(send, { input: { task: id, input: "From Ada" } });
    await openAs(bob!, `/tasks/${id}`);
    await heading("Lent");
    await page.getByLabel("Message", { exact: true }).fill("From Bob");
    await button("Send").click();
    const waiting = page.getByRole("list", { name: "Not yet delivered" }).getByRole("listitem");
    const own = waiting.filter({ hasText: "From Bob" });
    await own.getByText("Queued").waitFor();
    for (const name of ["Interrupt", "Allow it", "Edit From Bob", "Cancel From Bob"]) await button(name).waitFor();
    expect(await offered()).to.have.members(["Interrupt", "Allow it", "Edit", "Cancel", "Send"]);
    await button("Cancel From Bob").click();
    await own.getByText("Canceled").waitFor();
    await openAs(bob!, `/workspaces/${workspaceId}`);
    await page.getByRole("heading", { name: "main" }).waitFor();
    for (const name of ["Duplicate", /^Copy/]) await button(name).waitFor();
    expect(await offered()).to.have.members(["Duplicate", "Copy"]);
  });

  it("deletes a workspace without a daemon, for those who may change its template", async () => {
    const { world, openAs, asOwner, heading, offered, button, dialog, submit, text, row } = console();
    const [ada] = await world.users("ada");
    const template = await templateOf(world, boxOf(0, { provisioner: "gone" }));
    const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";
    const input = { name: "stuck", templateId: template.id };
    const { id } = (await world.as(ada!).graphql(create, { input })).createWorkspace.workspace;
    await openAs(ada!, `/workspaces/${id}`);
    await heading("stuck");
    await button("Delete stuck").waitFor();
    expect(await offered()).not.to.include("Delete without cleaning up");
    await asOwner(`/workspaces/${id}`);
    await text("Pending");
    await button("Delete without cleaning up").click();
    await dialog().getByText("What daemons have created for it stays behind").waitFor();
    await submit("Delete without cleaning up");
    await heading("Workspaces");
    await row("stuck").waitFor({ state: "detached" });
  });

  it("deletes a task while its workspace is built, and says that it cancels the build", async () => {
    const { world, openAs, heading, button, dialog, submit, row } = console();
    const ada = await world.user("ada");
    const stage = await TaskStage.open(world, program);
    const task = await stage.create(ada, { display_name: "Hanging" });
    await stage.daemon.call("acceptProvisionerJob", await stage.next());
    await openAs(ada, `/tasks/${task.id}`);
    await heading("Hanging");
    await button("Delete Hanging").click();
    await dialog().getByText("Its build is canceled").waitFor();
    await submit("Delete");
    await heading("Tasks");
    await row("Hanging").waitFor({ state: "detached" });
    expect((await world.as(ada).get(`/api/v2/tasks/me/${task.id}`)).status).to.equal(404);
    stage.close();
  });

  it("offers a stopped workspace to another user, who sees the warning, and accepts or declines it", async () => {
    const { world, page, openAs, asOwner, heading, text, button, row, fill, notice, dialog, gone } = console();
    const [ada, bob] = (await world.users("ada", "bob")) as [Person, Person];
    const version = await insertVersion(world);
    const boxes = [await insertStopped(world, ada.id, version), await insertStopped(world, ada.id, version)];
    const nameOf = (id: string) => `box-${id.slice(-12)}`;
    const ownerOf = async (id: string) =>
      (await world.as(world.owner).graphql("query($id: UUID!) { workspace(id: $id) { owner { id } } }", { id }))
        .workspace.owner.id;
    for (const id of boxes) {
      await asOwner(`/workspaces/${id}`);
      await heading(nameOf(id));
      await button("Transfer").click();
      expect(await dialog().innerText()).to.contain("Files and programs of the former owner stay inside");
      await page.keyboard.press("Escape");
      await fill("Transfer", { "New owner": bob.username }, "Transfer");
      await notice("It is offered for a week.");
    }
    // The owner of before is offered nothing, and neither are others.
    await openAs(ada, "/workspaces");
    await row(nameOf(boxes[0]!)).waitFor();
    expect(await page.getByText("Offered to you").count()).to.equal(0);

    await openAs(bob, "/workspaces");
    await text("Offered to you");
    const offers = "Offered workspaces";
    const [taken, left] = boxes.map((id) => row(nameOf(id), offers));
    expect(await taken!.innerText())
      .to.contain(ada.username)
      .and.contain(world.owner.username);
    await taken!.getByRole("button", { name: "Accept" }).click();
    expect(await dialog().innerText()).to.contain("Files and programs of the former owner stay inside");
    await dialog().getByRole("button", { name: "Accept" }).click();
    await notice("It is yours.");
    await gone(nameOf(boxes[0]!), offers);
    expect(await ownerOf(boxes[0]!)).to.equal(bob.id);
    await left!.getByRole("button", { name: "Decline" }).click();
    await notice("Declined.");
    await page.getByText("Offered to you").waitFor({ state: "detached" });
    expect(await ownerOf(boxes[1]!)).to.equal(ada.id);
    await openAs(bob, `/workspaces/${boxes[0]!}`);
    await button("Start").waitFor();
  });
});
