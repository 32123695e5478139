// What a workspace costs before it is built, its duplicate, its apps, and the page that keeps it running.
import { expect } from "chai";
import { otherHost } from "../support/browser.js";
import { consoleTests, echoDocument, externalAgent, importedTemplate, sizeParameter } from "../support/console.js";
import { freePort } from "../support/ports.js";
import { eventually } from "../support/watchers.js";
import type { World } from "../support/world.js";

/** Creates a workspace of the owner, and waits until it runs. Returns its ID. */
async function runningWorkspace(w: World, input: object): Promise<string> {
  const owner = w.as(w.owner);
  const { createWorkspace } = await owner.graphql(
    "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }",
    { input },
  );
  const { id } = createWorkspace.workspace;
  const statusOf = async () =>
    (await owner.graphql("query($id: UUID!) { workspace(id: $id) { status } }", { id })).workspace.status;
  await eventually(async () => (await statusOf()) === "RUNNING", "the workspace", 20_000);
  return id;
}

describe("the console opens workspaces", () => {
  const console = consoleTests();

  it("after it has said what they cost, and what is left of the quota", async () => {
    const { world: w, asOwner, button, dialog, enter, submit, heading } = console();
    const quota = await w.as(w.owner).patch(`/api/v2/groups/${w.defaultOrganization}`, { quota_allowance: 7 });
    expect(quota.status).to.equal(200);
    const resources = [{ name: "box", daily_cost: 4, agents: [] }];
    const template = await importedTemplate(w, "priced", echoDocument([], { resources }));
    await asOwner(`/templates/${template}`);
    await button("Create a workspace").click();
    await dialog().getByText("It needs 4 credits a day. You have 7 of 7 left.").waitFor();
    await enter("Name", "affordable");
    await submit("Create");
    await heading("affordable");
    await button("Stop").waitFor();
    await asOwner(`/templates/${template}`);
    await button("Create a workspace").click();
    await dialog().getByText("you have 3 of 7 left: the build would fail").waitFor();
  });

  it("like others, whose parameters a duplicate has", async () => {
    const { world: w, asOwner, button, dialog, enter, submit, heading, text } = console();
    const templateId = await importedTemplate(w, "sized", echoDocument([], { parameters: [sizeParameter] }));
    const id = await runningWorkspace(w, {
      name: "original",
      templateId,
      parameters: [{ name: "size", value: "large" }],
    });
    await asOwner(`/workspaces/${id}`);
    await button("Duplicate").click();
    expect(await dialog().getByLabel("Size").inputValue()).to.equal("large");
    await enter("Name", "copy");
    await submit("Create");
    await heading("copy");
    await text("large");
  });

  it("by their apps: a button for each address, and a reason where there is none", async () => {
    const { world: w, asOwner, link, text } = console();
    const apps = [
      { slug: "web", display_name: "Web", url: "http://127.0.0.1:9/start", tooltip: "The site as it is now" },
      { slug: "top", display_name: "Processes", command: "htop" },
    ];
    const templateId = await importedTemplate(w, "with-apps", echoDocument([{ ...externalAgent, apps }]));
    const id = await runningWorkspace(w, { name: "with-apps", templateId });
    await asOwner(`/workspaces/${id}`);
    expect(await link("Open Web").getAttribute("href")).to.equal("http://127.0.0.1:9/start");
    await text("Runs in a terminal of the workspace: htop");
    await text("Not connected yet.");
  });

  it("for longer, from the page to which the notice of their stop leads", async () => {
    const { world: w, page, asOwner, button, heading, notice } = console();
    const templateId = await importedTemplate(w, "short", echoDocument());
    const id = await runningWorkspace(w, { name: "short", templateId, ttlSeconds: 3_600 });
    const deadlineOf = async () => {
      const query = "query($id: UUID!) { workspace(id: $id) { deadline } }";
      return Date.parse((await w.as(w.owner).graphql(query, { id })).workspace.deadline);
    };
    const before = await deadlineOf();
    await asOwner(`/workspaces/${id}/extend`);
    await heading("Keep short running");
    expect(await deadlineOf()).to.equal(before);
    await button("Keep it running for 4 more hours").click();
    await notice("It runs for 4 more hours.");
    expect((await deadlineOf()) - before).to.equal(4 * 3_600_000);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).to.be.at.most(360);
  });
});

describe("the console on another machine", () => {
  const settings: NodeJS.ProcessEnv = {};
  before(async () => {
    const port = String(await freePort("127.0.0.1"));
    Object.assign(settings, { STEWARD_PORT: port, STEWARD_ACCESS_URL: `http://${otherHost}:${port}` });
  });
  const console = consoleTests(settings);

  it("has no button for what listens on the machine of a workspace alone, and says how to reach it", async () => {
    const { world: w, asOwner, link, text, main } = console();
    const apps = [
      { slug: "web", display_name: "Web", url: "http://127.0.0.1:8080/" },
      { slug: "docs", display_name: "Docs", url: "https://docs.example.com/" },
    ];
    const templateId = await importedTemplate(w, "local-apps", echoDocument([{ ...externalAgent, apps }]));
    const id = await runningWorkspace(w, { name: "local-apps", templateId });
    await asOwner(`/workspaces/${id}`);
    await link("Open Docs").waitFor();
    await text(/It listens on the machine of the workspace alone\. .* steward port-forward \S*local-apps 8080/);
    await main().getByText("Web", { exact: true }).waitFor();
    expect(await link("Open Web").count()).to.equal(0);
  });
});
