// Templates in the console: their variables, with whom they are shared, and their prebuilds.
import { expect } from "chai";
import { type Console, consoleTests, echoDocument, importedTemplate, rejection } from "../support/console.js";
import { newId } from "../support/ids.js";
import { eventually } from "../support/watchers.js";
import type { Anything } from "../support/world.js";

describe("the console handles templates", () => {
  const console = consoleTests();

  /** A document whose workspaces show the values of variables. */
  const withVariables = (variables: ReadonlyArray<{ name: string }>) =>
    JSON.stringify({
      schema: "steward.template/1",
      provisioner: "echo",
      variables,
      resources: [{ name: "box", metadata: variables.map(({ name }) => ({ key: name, value: `\${var.${name}}` })) }],
    });

  const program = { name: "program", description: "Absolute path of the program." };
  const variables = [
    program,
    { name: "size", type: "number", default: 2 },
    { name: "debug", type: "bool", default: true },
    { name: "token", sensitive: true },
    { name: "region", default: "north" },
  ];

  /** The values of the variables of the active version of a template, as a workspace of it shows them. */
  async function valuesOf({ world }: Console, templateId: string): Promise<Record<string, string>> {
    const owner = world.as(world.owner);
    const template = "query($id: UUID!) { template(id: $id) { activeVersion { isImported } } }";
    const isActive = async () => (await owner.graphql(template, { id: templateId })).template.activeVersion?.isImported;
    await eventually(isActive, "the import");
    const { createWorkspace } = await owner.graphql(
      "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }",
      { input: { name: `shows-${newId().slice(-6)}`, templateId } },
    );
    const build = `query($id: UUID!) { workspace(id: $id) { latestBuild { status resources { metadata { key value } } } } }`;
    const read = async () => (await owner.graphql(build, { id: createWorkspace.workspace.id })).workspace.latestBuild;
    await eventually(async () => (await read()).resources.length > 0, "the build");
    const { metadata } = (await read()).resources[0] as { metadata: Array<{ key: string; value: string }> };
    return Object.fromEntries(metadata.map(({ key, value }) => [key, value]));
  }

  /**
   * Gives one result of the page an active version that was read before the rest of it: that which `activeBefore` returns,
   * unless it is undefined. Counts such results.
   */
  async function mixOnce(c: Console, activeBefore: (template: Anything) => unknown): Promise<{ count: number }> {
    const mixed = { count: 0 };
    await c.page.route("**/graphql", async (route) => {
      if (mixed.count > 0 || !route.request().postData()?.includes("query Template(")) return route.continue();
      const response = await route.fetch();
      const { data } = await response.json();
      const activeVersion = activeBefore(data.template);
      if (activeVersion === undefined) return route.fulfill({ response });
      mixed.count++;
      return route.fulfill({ response, json: { data: { ...data, template: { ...data.template, activeVersion } } } });
    });
    return mixed;
  }

  it("creates one with values of the variables that its document declares", async () => {
    const c = console();
    await c.asOwner("/templates");
    await c.button("Create a template").click();
    await c.enter("Name", "with-variables");
    expect(
      await c
        .dialog()
        .getByLabel(/^Variable/)
        .count(),
    ).to.equal(0);
    await c.enter("Document", withVariables(variables));
    await c.dialog().getByText(program.description).waitFor();
    // A text that is no JSON for a moment does not lose the fields.
    await c.enter("Variable region", "");
    await c.enter("Document", `${withVariables(variables)} …`);
    expect(await c.field("Variable region").inputValue()).to.equal("");
    await c.enter("Document", withVariables(variables));
    expect(await c.field("Variable size").inputValue()).to.equal("2");
    expect(await c.field("Variable debug").isChecked()).to.equal(true);
    expect(await c.field("Variable token").getAttribute("type")).to.equal("password");
    await c.dialog().getByRole("button", { name: "Create", exact: true }).click();
    // Nothing is sent without them, since the import would fail.
    for (const name of ["Variable program", "Variable token"])
      expect(await c.field(name).getAttribute("aria-invalid"), name).to.equal("true");
    expect(await c.dialog().getByText("Is required.").count()).to.equal(2);
    await c.enter("Variable program", "/opt/chat.mjs");
    await c.enter("Variable token", "x".repeat(8193));
    await c.enter("Variable size", "3");
    await c.enter("Variable debug", false);
    await c.dialog().getByRole("button", { name: "Create", exact: true }).click();
    await c.dialog().locator(".field", { hasText: "Variable token" }).locator(".fault").waitFor();
    await c.dialog().getByText("Is required.").first().waitFor({ state: "detached" });
    await c.enter("Variable token", "a secret token");
    await c.submit("Create");
    await c.page.waitForURL(/\/templates\/./);
    expect(await valuesOf(c, c.page.url().split("/").at(-1)!)).to.deep.equal({
      program: "/opt/chat.mjs",
      size: "3",
      debug: "false",
      token: "a secret token",
      region: "",
    });
    expect(await c.page.content()).to.not.include("a secret token");
  });

  it("shows the active version, although it is not in the first result that the page gets", async () => {
    const c = console();
    const id = await importedTemplate(c.world, "just-imported", echoDocument());
    const mixed = await mixOnce(c, () => null);
    await c.asOwner(`/templates/${id}`);
    await c.row("v1").getByText("Active").waitFor();
    expect(mixed.count).to.equal(1);
  });

  it("asks for the values again for a new version", async () => {
    const c = console();
    await c.asOwner("/templates");
    await c.fill("Create a template", { Name: "again", Document: JSON.stringify(echoDocument()) }, "Create");
    await c.heading("again");
    await c.row("v1").getByText("Active").waitFor();
    // The first result that holds the end of the import has the active version before it: both are read one by one.
    let before: unknown;
    const mixed = await mixOnce(c, ({ versions, activeVersion }) => {
      if (versions.nodes.length === 1) before = activeVersion;
      const [{ name, job }] = versions.nodes;
      return name === "v2" && job.status === "SUCCEEDED" ? before : undefined;
    });
    await c.page.reload();
    const document = withVariables([program]);
    await c.fill("New version", { Document: document, "Variable program": "/opt/first.mjs" }, "Create");
    await c.notice("The version is being imported.");
    await c.row("v2").getByText("Active").waitFor();
    expect(mixed.count).to.equal(1);
    await c.page.unroute("**/graphql");
    await c.button("New version").click();
    await c.dialog().getByText("not taken over").waitFor();
    expect(await c.field("Variable program").inputValue()).to.equal("");
    await c.enter("Variable program", "/opt/second.mjs");
    await c.submit("Create");
    await c.row("v3").getByText("Active").waitFor();
    expect(await valuesOf(c, c.page.url().split("/").at(-1)!)).to.deep.equal({ program: "/opt/second.mjs" });
  });

  it("says why the parameters of a dry run are not there, and loads them again", async () => {
    const c = console();
    const id = await importedTemplate(c.world, "dry-run", echoDocument());
    await c.asOwner(`/templates/${id}`);
    let tries = 0;
    await c.page.route("**/graphql", (route) => {
      if (!route.request().postData()?.includes("query VersionParameters(") || ++tries > 1) return route.continue();
      return route.fulfill({ json: rejection });
    });
    await c.button("Dry run of v1").click();
    await c.dialog().getByText("Not today.").waitFor();
    await c.dialog().getByRole("button", { name: "Try again" }).click();
    await c.submit("Plan");
    await c.page.waitForURL(/\/jobs\/./);
  });

  it("shares one with a member who is found by name, and takes back a removal", async () => {
    const c = console();
    const { world } = c;
    const members = await world.users(...Array.from({ length: 55 }, (_, at) => `candidate-${10 + at}`));
    const last = members.at(-1)!;
    const group = await world.group(`sharers-${newId().slice(-6)}`);
    const id = await importedTemplate(world, `lent-${newId().slice(-6)}`, echoDocument());
    const query = `query($id: UUID!) { templateAcl(templateId: $id) { users { role user { id } } groups { role group { id } } } }`;
    const shares = async () => {
      const { users, groups } = (await world.as(world.owner).graphql(query, { id })).templateAcl;
      return [
        ...users.map((each: { role: string }) => each.role),
        ...groups.map((each: { group: { id: string } }) => each.group.id),
      ];
    };
    await c.asOwner(`/templates/${id}`);
    await c.page.getByLabel("Add a user").fill("no-such-candidate");
    await c.text("No one is found.");
    await c.page.getByLabel("Add a user").fill(last.username);
    await c.page.getByLabel("Found users").getByRole("button", { name: last.username }).press("Enter");
    await c.enter("Role", "May change it");
    await c.submit("Add");
    await c.page.getByLabel("Add a user").and(c.page.locator(":focus")).waitFor();
    await c.row(last.username, "Shared with").getByText("Admin").waitFor();
    await c.fill("Add a group", { Group: group.name, Role: "May use it" }, "Add");
    await c.row(group.name, "Shared with").waitFor();
    const before = await shares();
    expect(before).to.include("ADMIN").and.to.include(group.id);
    for (const name of [last.username, group.name]) {
      await c.button(`Remove ${name}`).click();
      await c.gone(name, "Shared with");
      await c.notice(`${name} is removed.`);
      await c.page.getByRole("button", { name: "Undo" }).click();
      await c.row(name, "Shared with").waitFor();
    }
    expect(await shares()).to.deep.equal(before);
  });

  it("gives a share of a workspace back with its end", async () => {
    const c = console();
    const { world } = c;
    const ada = await world.user("borrows");
    const templateId = await importedTemplate(world, `box-${newId().slice(-6)}`, echoDocument());
    const owner = world.as(world.owner);
    const { createWorkspace } = await owner.graphql(
      "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }",
      { input: { name: `lent-${newId().slice(-6)}`, templateId } },
    );
    const { id } = createWorkspace.workspace;
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    await owner.graphql(
      "mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }",
      { input: { workspace: id, userPerms: [{ id: ada.id, role: "use", expiresAt }] } },
    );
    const query = "query($id: UUID!) { workspace(id: $id) { acl { users { role expiresAt user { id } } } } }";
    const shares = async () => (await owner.graphql(query, { id })).workspace.acl.users;
    const before = await shares();
    expect(before).to.deep.equal([{ role: "USE", expiresAt, user: { id: ada.id } }]);
    await c.asOwner(`/workspaces/${id}`);
    await c.button(/^Remove borrows/).click();
    await c.gone(/borrows/, "Shared with");
    expect(await shares()).to.deep.equal([]);
    await c.page.getByRole("button", { name: "Undo" }).click();
    await c.row(/borrows/, "Shared with").waitFor();
    expect(await shares()).to.deep.equal(before);
  });

  it("pauses prebuilds, and replaces those of a template", async () => {
    const c = console();
    const presets = [{ name: "Ready", prebuilds: { instances: 1 } }];
    const id = await importedTemplate(c.world, `ahead-${newId().slice(-6)}`, echoDocument([], { presets }));
    await c.asOwner("/templates");
    await c.button("Pause prebuilds").click();
    await c.text("Prebuilds are paused");
    await c.page.getByRole("button", { name: "Undo" }).click();
    await c.button("Pause prebuilds").waitFor();
    await c.open(`/templates/${id}`);
    await c.row("Ready", "Presets").getByText("Healthy").waitFor();
    await c.fill("Rebuild prebuilds", {}, "Rebuild prebuilds");
    await c.notice("The prebuilds are replaced.");
    await c.openAs(await c.world.user("uses-prebuilds"), "/templates");
    expect(await c.offered())
      .to.not.include("Pause prebuilds")
      .and.not.include("Create a template");
  });
});
