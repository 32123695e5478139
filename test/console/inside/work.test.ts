// Templates, workspaces, builds, and tasks in the console, which follows them while they change.
// Looks inside: no interface shows what was sent to the agent of a task, and many builds would take a second each.
import { expect } from "chai";
import { AgentProgram } from "../../support/agent-api.js";
import { eventually } from "../../support/watchers.js";
import {
  type Console,
  consoleTests,
  echoDocument,
  externalAgent,
  importedTemplate,
  sizeParameter,
} from "../../support/console.js";

describe("the console shows work", () => {
  const console = consoleTests();

  /** Creates a workspace as the owner. */
  async function workspaceOf({ world: w }: Console, name: string, agents: object[] = []): Promise<string> {
    const templateId = await importedTemplate(w, `of-${name}`, echoDocument(agents));
    const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";
    return (await w.as(w.owner).graphql(create, { input: { name, templateId } })).createWorkspace.workspace.id;
  }

  async function built({ world: w }: Console, workspaceId: string): Promise<void> {
    const query = `query($id: UUID!) { workspace(id: $id) { latestBuild { job { status } } } }`;
    const statusOf = async () =>
      (await w.as(w.owner).graphql(query, { id: workspaceId })).workspace.latestBuild.job.status;
    await eventually(async () => (await statusOf()) === "SUCCEEDED", "the first build", 20_000);
  }

  /** A client with the credential of an external agent, which exists once the first build has succeeded. */
  async function agentOf({ world: w }: Console, workspaceId: string) {
    const owner = w.as(w.owner);
    await built(console(), workspaceId);
    const query = `query($id: UUID!) { externalAgentCredentials(workspaceId: $id, agentName: "main") { agentToken } }`;
    const { externalAgentCredentials } = await owner.graphql(query, { id: workspaceId });
    return w.as({ token: externalAgentCredentials.agentToken });
  }

  describe("templates", () => {
    it("are created from a document, whose faults are next to it, and imported", async () => {
      const { asOwner, button, enter, dialog, submit, heading, text, page } = console();
      await asOwner("/templates");
      await button("Create a template").click();
      await enter("Name", "made-here");
      await enter("Document", "{");
      await dialog().getByRole("button", { name: "Create" }).click();
      await dialog().getByText("Is not JSON").waitFor();
      await enter("Document", JSON.stringify({ ...echoDocument(), provisioner: "NOT VALID" }));
      await dialog().getByRole("button", { name: "Create" }).click();
      await dialog().locator(".field.json .fault").waitFor();
      await enter("Document", JSON.stringify(echoDocument()));
      await submit("Create");
      await heading("made-here");
      await page.getByRole("link", { name: "Log", exact: true }).click();
      await heading("Template version import");
      await text("Succeeded");
    });

    it("get settings, versions, and an end of life that is undone", async () => {
      const { world, page, asOwner, fill, heading, text, row, button, notice, dialog, enter, submit } = console();
      const id = await importedTemplate(world, "kept", echoDocument());
      await asOwner(`/templates/${id}`);
      await heading("kept");
      await button("Settings").click();
      const days = dialog().getByRole("group", { name: "Autostop days" }).getByRole("checkbox");
      expect(await days.first().getAttribute("value")).to.equal("MONDAY");
      await enter("Stops after", "soon");
      await dialog().getByRole("button", { name: "Save" }).click();
      await dialog().getByText("Needs a whole number with a unit").waitFor();
      await enter("Stops after", "90 min");
      await enter("Display name", "The Kept");
      await submit("Save");
      await heading("The Kept");
      await text("90 minutes");
      await fill("New version", { Name: "second", "Activate it": false }, "Create");
      // Without a reload: the view follows the import.
      await row("second", "Versions").getByRole("button", { name: "Activate second" }).click();
      await notice("second is active.");
      await row("second", "Versions").getByText("Active").waitFor();
      await fill("Archive v1", {}, "Archive");
      await row("v1", "Versions").getByText("Archived").waitFor();
      await fill("Deprecate", { "What to use instead": "Use the new one" });
      await text("Deprecated: Use the new one");
      await page.getByRole("button", { name: "Undo" }).last().click();
      await button("Deprecate").waitFor();
      await fill("Delete The Kept", {}, "Delete");
      await heading("Templates");
    });

    it("say whether, when, and with which version their workspaces start by themselves", async () => {
      const { world, asOwner, button, dialog, enter, submit, heading, main } = console();
      const id = await importedTemplate(world, "starting", echoDocument());
      await asOwner(`/templates/${id}`);
      await heading("starting");
      await main().getByText("on all days").waitFor();
      await button("Settings").click();
      const days = dialog().getByRole("group", { name: "Autostart days" });
      for (const day of ["Saturday", "Sunday"]) await days.getByLabel(day).uncheck();
      await enter("Always", true);
      await submit("Save");
      await main().getByText("Monday, Tuesday, Wednesday, Thursday, Friday", { exact: true }).waitFor();
      const settings = async () => {
        const query = "query($id: UUID!) { template(id: $id) { allowUserAutostart autostartDays automaticUpdates } }";
        return (await world.as(world.owner).graphql(query, { id })).template as unknown;
      };
      const autostartDays = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY"];
      expect(await settings()).to.deep.equal({ allowUserAutostart: true, autostartDays, automaticUpdates: "ALWAYS" });
      await button("Settings").click();
      await enter("Owners may have their workspaces started", false);
      await submit("Save");
      await main().locator("dl > div", { hasText: "Starts by schedule" }).getByText("never").waitFor();
      expect(await settings()).to.deep.equal({ allowUserAutostart: false, autostartDays, automaticUpdates: "ALWAYS" });
    });

    it("are shared with groups and users", async () => {
      const { world, asOwner, fill, enter, submit, row, text, heading, page } = console();
      const ada = await world.user("sharer");
      const group = await world.group();
      const id = await importedTemplate(world, "shared", echoDocument());
      await asOwner(`/templates/${id}`);
      await heading("shared");
      await fill("Add a group", { Group: group.name, Role: "May use it" }, "Add");
      await row(group.name, "Shared with").getByText("May use it").waitFor();
      await page.getByLabel("Add a user").fill(ada.username);
      await page.getByLabel("Found users").getByRole("button").first().click();
      await enter("Role", "May change it");
      await submit("Add");
      await row(ada.username, "Shared with").getByText("Admin").waitFor();
      await page.getByRole("button", { name: `Remove ${ada.username}` }).click();
      await row(ada.username, "Shared with").waitFor({ state: "detached" });
      await text(group.name);
    });
  });

  describe("workspaces", () => {
    it("are created with the parameters of their template, stopped, started, and deleted, without a reload", async () => {
      const { world, asOwner, button, dialog, enter, submit, heading, text, fill, row } = console();
      const parameters = [
        sizeParameter,
        { name: "debug", display_name: "Debug", type: "bool", default: true },
        { name: "tools", display_name: "Tools", type: "list", default: ["git", "make"] },
      ];
      await importedTemplate(world, "sized", echoDocument([], { parameters }));
      await asOwner("/workspaces");
      await button("Create a workspace").click();
      await enter("Template", "sized");
      await dialog().getByRole("button", { name: "Next" }).click();
      await dialog().getByLabel("Size").waitFor();
      expect(await dialog().getByLabel("Debug").isChecked()).to.equal(true);
      expect(await dialog().getByLabel("Tools").inputValue()).to.equal("git\nmake");
      await enter("Size", "Large");
      await dialog().getByRole("button", { name: "Create" }).click();
      await dialog().locator("[aria-invalid]").waitFor();
      await enter("Name", "followed");
      await submit("Create");
      await heading("followed");
      await text("large");
      await text('["git","make"]');
      await button("Stop").click();
      await button("Start").click();
      await button("Stop").waitFor();
      await row("Build 3", "Builds").waitFor();
      await fill("Edit", { Name: "renamed", "Stops after": "2 hours" }, "Save");
      await heading("renamed");
      await text("2 hours");
      await fill("Delete renamed", {}, "Delete");
      await heading("Workspaces");
      await row("renamed").waitFor({ state: "detached" });
    });

    it("are created with a preset and the values that it does not set, whose faults are next to their fields", async () => {
      const { world, asOwner, button, dialog, enter, submit, heading, main } = console();
      const parameters = [
        sizeParameter,
        { name: "repo", display_name: "Repository" },
        { name: "shell", display_name: "Shell", default: "bash" },
      ];
      const presets = [{ name: "big", parameters: { size: "large" } }];
      await importedTemplate(world, "with-preset", echoDocument([], { parameters, presets }));
      await asOwner("/workspaces");
      await button("Create a workspace").click();
      await enter("Template", "with-preset");
      await dialog().getByRole("button", { name: "Next" }).click();
      await enter("Name", "from-preset");
      await enter("Preset", "big");
      await enter("Shell", "fish");
      await dialog().getByRole("button", { name: "Create" }).click();
      await dialog().locator(".field", { hasText: "Repository" }).getByText("Is required.").waitFor();
      await enter("Repository", "acme/site");
      await submit("Create");
      await heading("from-preset");
      for (const value of ["large", "acme/site", "fish"]) await main().getByText(value, { exact: true }).waitFor();
    });

    it("are started with other parameters, and with the active version of their template", async () => {
      const { world, page, asOwner, button, dialog, enter, submit, heading, main, row } = console();
      const region = { name: "region", display_name: "Region", default: "eu", mutable: false };
      const parameters = [sizeParameter, region];
      const templateId = await importedTemplate(world, "renewed", echoDocument([], { parameters }));
      const as = world.as(world.owner);
      const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";
      const { id } = (await as.graphql(create, { input: { name: "renewed", templateId } })).createWorkspace.workspace;
      const valueOf = (name: string) => main().locator("dl > div", { hasText: name }).locator("dd");
      await asOwner(`/workspaces/${id}`);
      await heading("renewed");
      await button("Stop").click();
      await button("Start").waitFor();
      await button("Change parameters").click();
      await dialog().getByLabel("Size").waitFor();
      expect(await dialog().getByLabel("Region").count(), "what cannot change").to.equal(0);
      await enter("Size", "Small");
      await submit("Start");
      await row("Build 3", "Builds").waitFor();
      await valueOf("Size").getByText("small").waitFor();
      await button("Stop").waitFor();
      // While it runs, it is stopped first.
      await button("Change parameters").click();
      await enter("Size", "Large");
      await submit("Restart");
      await row("Build 5", "Builds").waitFor();
      await valueOf("Size").getByText("large").waitFor();
      await button("Stop").waitFor();
      await button("Restart").click();
      await dialog().getByRole("button", { name: "Restart" }).click();
      await row("Build 7", "Builds").waitFor();
      await button("Stop").waitFor();

      const presets = [{ name: "tiny", parameters: { size: "small" } }];
      const shell = { name: "shell", display_name: "Shell" };
      const version =
        "mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { __typename } }";
      const document = echoDocument([], { parameters: [...parameters, shell], presets });
      await as.graphql(version, { input: { templateId, document, name: "second", activate: true } });
      await button("Stop").click();
      await row("Build 8", "Builds").getByText("Stopped").waitFor();
      await eventually(async () => {
        const outdated = "query($id: UUID!) { workspace(id: $id) { isOutdated } }";
        return (await as.graphql(outdated, { id })).workspace.isOutdated;
      }, "the second version");
      await page.reload();
      await valueOf("Template version").getByText("v1, not the active one").waitFor();
      await button("Update").click();
      await enter("Preset", "tiny");
      expect(await dialog().getByLabel("Size").inputValue(), "the value before").to.equal("large");
      await dialog().getByRole("button", { name: "Start" }).click();
      await dialog().locator(".field", { hasText: "Shell" }).getByText("Is required.").waitFor();
      await enter("Shell", "fish");
      await submit("Start");
      await valueOf("Template version").getByText("second", { exact: true }).waitFor();
      for (const [name, value] of Object.entries({ Size: "small", Region: "eu", Shell: "fish" }))
        await valueOf(name).getByText(value, { exact: true }).waitFor();
    });

    it("are shared until a time, or until the share is removed", async () => {
      const { world, asOwner, dialog, enter, submit, heading, row, page } = console();
      const ada = await world.user("until");
      const grace = await world.user("forever");
      const id = await workspaceOf(console(), "lent");
      await asOwner(`/workspaces/${id}`);
      await heading("lent");
      const share = async (username: string, ends: string) => {
        await page.getByLabel("Share with a user").fill(username);
        // Users of the search before are shown until the next ones are found.
        await page.getByLabel("Found users").getByRole("button", { name: username }).click();
        await dialog()
          .getByRole("heading", { name: `Share with ${username}` })
          .waitFor();
        await enter("Ends", ends);
      };
      await share(ada.username, "2001-01-01T12:00");
      await dialog().getByRole("button", { name: "Share", exact: true }).click();
      await dialog().getByRole("alert").waitFor();
      const end = new Date(Math.ceil(Date.now() / 60_000) * 60_000 + 86_400_000);
      // The browser is in Berlin.
      const local = end.toLocaleString("sv-SE", { timeZone: "Europe/Berlin" }).slice(0, 16).replace(" ", "T");
      await enter("Ends", local);
      await submit("Share");
      await share(grace.username, "");
      await submit("Share");
      await row("never", "Shared with").getByText("May use it").waitFor();
      const query = "query($id: UUID!) { workspace(id: $id) { acl { users { expiresAt user { id } } } } }";
      const { users } = (await world.as(world.owner).graphql(query, { id })).workspace.acl;
      const ends = new Map(
        (users as Array<{ expiresAt: string | null; user: { id: string } }>).map((each) => [
          each.user.id,
          each.expiresAt,
        ]),
      );
      expect([ends.get(ada.id), ends.get(grace.id)]).to.deep.equal([end.toISOString(), null]);
    });

    it("are stopped and started together from their list", async () => {
      const { page, asOwner, row, main, button } = console();
      await workspaceOf(console(), "many-a");
      await workspaceOf(console(), "many-b");
      await asOwner("/workspaces?q=many-");
      for (const name of ["many-a", "many-b"]) {
        await row(name).getByText("Running").waitFor();
        await page.getByRole("checkbox", { name: new RegExp(`^Select .*/${name}$`) }).check();
      }
      await button("Stop 2").click();
      for (const name of ["many-a", "many-b"]) await row(name).getByText("Stopped").waitFor();
      // What is done is not selected any more.
      await page.getByRole("region", { name: "Selected workspaces" }).waitFor({ state: "detached" });
      expect(
        await main()
          .getByRole("button", { name: /^Start many-/ })
          .count(),
      ).to.equal(2);
      await page.getByRole("checkbox", { name: "Select all workspaces of the page" }).check();
      await button("Start 2").click();
      for (const name of ["many-a", "many-b"]) await row(name).getByText("Running").waitFor();
    });

    it("show the logs of their builds and agents while they are written", async () => {
      const { page, asOwner, heading, link, text } = console();
      const id = await workspaceOf(console(), "logged", [externalAgent]);
      await asOwner(`/workspaces/${id}`);
      await heading("logged");
      await page.getByRole("log", { name: "Log of the build" }).getByText("box").first().waitFor();
      const agent = await agentOf(console(), id);
      const log = page.getByRole("log", { name: "Log of main" });
      await log.waitFor();
      const append = (output: string) =>
        agent.graphql("mutation($input: AppendAgentLogsInput!) { appendAgentLogs(input: $input) { overflowed } }", {
          input: { logs: [{ createdAt: new Date().toISOString(), output, level: "INFO" }] },
        });
      await append("the first line");
      await log.getByText("the first line").waitFor();
      await append("the second line");
      await log.getByText("the second line").waitFor();
      expect((await log.innerText()).match(/the first line/g)).to.have.length(1);
      await link("Build 1").click();
      await heading("Build 1");
      await page.getByRole("log", { name: "Log of the build" }).getByText("box").first().waitFor();
      await text("template version v1");
    });

    it("show all of their builds, in pages", async () => {
      const { world, page, asOwner, heading, row } = console();
      const id = await workspaceOf(console(), "rebuilt");
      await built(console(), id);
      const copy = (table: string, source: string, changes: string) => `insert into ${table}
        select (jsonb_populate_record(${source}, jsonb_build_object(${changes}))).* from more m, workspaces w
        join workspace_builds b on b.id = w.latest_build_id join provisioner_jobs j on j.id = b.job_id
        where w.id = '${id}'`;
      await world.app.services.database.pool.query(`
        begin;
        set local session_replication_role = replica;
        update workspace_builds set build_number = 30 where workspace_id = '${id}';
        create temporary table more on commit drop as
          select n, gen_random_uuid() as build, gen_random_uuid() as job from generate_series(1, 29) n;
        ${copy("provisioner_jobs", "j", "'id', m.job")};
        ${copy("workspace_builds", "b", "'id', m.build, 'job_id', m.job, 'build_number', m.n, 'created_at', b.created_at - (30 - m.n) * interval '1 s'")};
        commit`);
      await asOwner(`/workspaces/${id}`);
      await heading("rebuilt");
      await row("Build 30", "Builds").waitFor();
      expect(await row(/Build 5 /, "Builds").count()).to.equal(0);
      const pages = page.getByRole("navigation", { name: "Pages of Builds" });
      await pages.getByRole("button", { name: "Next" }).click();
      await row(/Build 5 /, "Builds").waitFor();
      await row(/Build 1 /, "Builds").waitFor();
      expect(await row("Build 30", "Builds").count()).to.equal(0);
      await pages.getByRole("button", { name: "Previous" }).click();
      await row("Build 30", "Builds").waitFor();
    });

    it("show how an external agent is run, to those who may read its credentials", async () => {
      const { asOwner, button, secret } = console();
      const id = await workspaceOf(console(), "external", [externalAgent]);
      await asOwner(`/workspaces/${id}`);
      await button("Show how to run it").click();
      expect(await secret()).to.include("init-script");
    });

    it("offer only what the caller may do, after one check for each view", async () => {
      const { world, page, openAs, heading, offered, button } = console();
      const [ada, bob] = await world.users("ada", "bob");
      const templateId = await importedTemplate(world, "offered", echoDocument());
      const create = "mutation($input: CreateWorkspaceInput!) { createWorkspace(input: $input) { workspace { id } } }";
      const made = await world.as(ada!).graphql(create, { input: { name: "private", templateId } });
      const { id } = made.createWorkspace.workspace;
      // Reads all workspaces, but changes none.
      await world.grant(bob!, "template-admin");
      let checks = 0;
      page.on("request", (request) => {
        if (request.postData()?.includes("query Allowed")) checks++;
      });
      await openAs(bob!, `/workspaces/${id}`);
      await heading("private");
      await eventually(() => checks > 0, "the check");
      // It makes a workspace of their own.
      await button("Duplicate").waitFor();
      expect(await offered()).to.deep.equal(["Duplicate"]);
      expect(checks).to.equal(1);
      await openAs(ada!, `/workspaces/${id}`);
      await heading("private");
      await page.getByRole("button", { name: "Stop", exact: true }).waitFor();
      expect(await offered()).to.include.members(["Stop", "Edit", "Delete"]);
      await openAs(await world.user("stranger"), `/workspaces/${id}`);
      await page.getByText("do not have access to it").first().waitFor();
    });
  });

  describe("jobs", () => {
    it("are listed, and filtered by their state and type", async () => {
      const { asOwner, page, row, main, heading, link, text } = console();
      await workspaceOf(console(), "queued");
      await asOwner("/jobs");
      await row(/Workspace build queued/).waitFor();
      await page.getByLabel("Type").selectOption({ label: "Template version import" });
      await row(/Workspace build queued/).waitFor({ state: "detached" });
      expect(
        await main()
          .getByRole("row", { name: /Template version import/ })
          .count(),
      ).to.be.above(0);
      await link("Template version import").first().click();
      await heading("Template version import");
      await text("built-in");
    });
  });

  describe("tasks", () => {
    let program: AgentProgram;
    before(async () => {
      program = await AgentProgram.open();
    });
    after(() => program.close());

    it("are created, followed, sent messages, paused, and deleted", async () => {
      const { world, page, asOwner, fill, heading, text, button } = console();
      await importedTemplate(
        world,
        "assistant",
        echoDocument([{ ...externalAgent, apps: [{ slug: "chat", url: program.url }] }], {
          ai_task: { agent: "main", app: "chat" },
        }),
      );
      await asOwner("/tasks");
      await fill("Create a task", { Prompt: "Count to three", Title: "Counting" }, "Create");
      await heading("Counting");
      await page.getByRole("region", { name: "Prompt" }).getByText("Count to three").waitFor();
      await text("Initializing");
      const id = page.url().split("/").at(-1)!;
      const { task } = await world
        .as(world.owner)
        .graphql("query($id: String!) { task(task: $id) { workspaceId } }", { id });
      const agent = await agentOf(console(), task.workspaceId);
      for (const change of [
        "reportAgentLifecycle(input: { state: STARTING })",
        "reportAgentLifecycle(input: { state: READY })",
        `reportAppStatus(input: { appSlug: "chat", state: WORKING, message: "One, two" })`,
      ])
        await agent.graphql(`mutation { ${change} { __typename } }`);
      await text("One, two");
      program.say("agent", "I am counting");
      await text("I am counting");
      program.status = "running";
      await page.getByLabel("Message", { exact: true }).fill("And four");
      await button("Send").click();
      const waiting = page.getByRole("list", { name: "Not yet delivered" }).getByRole("listitem");
      await waiting.filter({ hasText: "And four" }).getByText("Queued").waitFor();
      expect(await page.getByLabel("Message", { exact: true }).inputValue()).to.equal("");
      await page.getByLabel("Message", { exact: true }).fill("And ten");
      await button("Send").click();
      await waiting.filter({ hasText: "And ten" }).getByText("Queued").waitFor();
      await fill("Edit And four", { Text: "And five" }, "Save");
      await waiting.filter({ hasText: "And five" }).getByText("Queued").waitFor();
      expect(await waiting.locator(".plain-text").allInnerTexts(), "in their places").to.deep.equal([
        "And five",
        "And ten",
      ]);
      await button("Cancel And five").click();
      await waiting.filter({ hasText: "And five" }).getByText("Canceled").waitFor();
      await button("Pause").click();
      await text("Paused");
      await fill("Edit prompt", { Prompt: "Count to nine" }, "Save");
      await page.getByRole("region", { name: "Prompt" }).getByText("Count to nine").waitFor();
      await fill("Delete Counting", {}, "Delete");
      await heading("Tasks");
    });

    it("are created with a preset of their template", async () => {
      const { world, page, asOwner, fill, heading } = console();
      await importedTemplate(
        world,
        "writer",
        echoDocument([{ ...externalAgent, apps: [{ slug: "chat", url: program.url }] }], {
          ai_task: { agent: "main", app: "chat" },
          parameters: [{ name: "repo" }],
          presets: [{ name: "docs", display_name: "Docs", parameters: { repo: "acme/docs" } }],
        }),
      );
      await asOwner("/tasks");
      await fill("Create a task", { Prompt: "Write", Title: "Writing", Template: "writer, Docs" }, "Create");
      await heading("Writing");
      const query =
        "query($id: String!) { task(task: $id) { presetId workspace { latestBuild { parameters { value } } } } }";
      const { task } = await world.as(world.owner).graphql(query, { id: page.url().split("/").at(-1)! });
      expect(task.presetId).to.be.a("string");
      expect(task.workspace.latestBuild.parameters).to.deep.equal([{ value: "acme/docs" }]);
    });

    it("show calls of tools, and let their owners decide about permissions and interrupt them", async () => {
      const { world, page, asOwner, fill, heading, text, button } = console();
      await importedTemplate(
        world,
        "builder",
        echoDocument([{ ...externalAgent, apps: [{ slug: "chat", url: program.url }] }], {
          ai_task: { agent: "main", app: "chat" },
        }),
      );
      await asOwner("/tasks");
      await fill("Create a task", { Prompt: "Clean up", Title: "Cleaning", Template: "builder" }, "Create");
      await heading("Cleaning");
      await text("Initializing");
      const id = page.url().split("/").at(-1)!;
      const as = world.as(world.owner);
      const { task } = await as.graphql("query($id: String!) { task(task: $id) { workspaceId } }", { id });
      const agent = await agentOf(console(), task.workspaceId);
      const mutate = (name: string, input: string) =>
        agent.graphql(`mutation { ${name}(input: { ${input} }) { __typename } }`);
      const tell = (state: string, optionId: string | null) =>
        mutate(
          "reportTaskConversation",
          `taskId: "${id}", state: ${state}, messages: [{ key: "1", role: AGENT, writtenAt: "2026-01-02T03:04:05Z", parts: [
            { kind: TEXT, text: "I will clean up." },
            { kind: TOOL_CALL, toolCallId: "c", title: "Remove old files", status: PENDING },
            { kind: TOOL_RESULT, toolCallId: "c", text: "12 files" },
            { kind: PERMISSION, requestId: "r", title: "Remove old files", optionId: ${JSON.stringify(optionId)}, options: [
              { id: "y", name: "Allow it", kind: ALLOW_ONCE }, { id: "n", name: "Reject it", kind: REJECT_ONCE }] } ] }]`,
        );
      for (const state of ["STARTING", "READY"]) await mutate("reportAgentLifecycle", `state: ${state}`);
      await mutate("beginTaskConversation", `taskId: "${id}", protocol: ACP`);
      await tell("REQUIRES_ACTION", null);
      for (const shown of ["I will clean up.", "12 files", "The agent asks for a permission: Remove old files"])
        await text(shown);
      await button("Reject it").waitFor();
      await button("Allow it").click();
      const actions = async () =>
        (
          await world.app.services.database.pool.query("select kind, option_id from task_actions where task_id = $1", [
            id,
          ])
        ).rows;
      await eventually(async () => (await actions()).length === 1, "the decision");
      expect(await actions()).to.deep.equal([{ kind: "decision", option_id: "y" }]);
      await tell("WORKING", "y");
      await text("Remove old files: Allow it");
      await button("Allow it").waitFor({ state: "detached" });
      await button("Interrupt").click();
      await eventually(async () => (await actions()).length === 2, "the interrupt");
      await fill("Delete Cleaning", {}, "Delete");
      await heading("Tasks");
    });
  });
});
