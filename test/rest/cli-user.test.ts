// The commands of users, each a process of its own, with a login, against a server whose daemon builds workspaces.
// Reaches for tables: a daemon counts as offline after 90 seconds.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import type { AgentProgram } from "../support/agent-api.js";
import { prints, UserCli } from "../support/cli.js";
import { newKey, serve } from "../support/provisioners.js";
import { setColumns } from "../support/tables.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Anything, type Person, startWorld, type World } from "../support/world.js";

const agent = { name: "main", os: "linux", arch: "amd64", command: ["true"] };
const document = {
  schema: "steward.template/1",
  provisioner: "echo",
  parameters: [
    {
      name: "size",
      default: "small",
      options: [
        { name: "Small", value: "small" },
        { name: "Large", value: "large" },
      ],
    },
    { name: "count", type: "number", default: 1 },
  ],
  presets: [{ name: "Big", parameters: { size: "large" } }, { name: "Plain" }],
  resources: [{ name: "box", agents: [agent] }],
};

describe("the commands of users", () => {
  let w: World;
  let url: string;
  let ada: Person;
  let cli: UserCli;
  let templateId: string;

  before(async () => {
    w = await startWorld({ STEWARD_BUILTIN_DAEMON: "true" });
    url = w.app.services.config.accessUrl;
    ada = await w.user("ada");
    cli = await UserCli.open();
    await cli.signIn(url, ada);
    templateId = await createTemplate("box", document);
  });
  after(async () => {
    await cli.close();
    await w.close();
  });

  async function createTemplate(name: string, content: object): Promise<string> {
    const { createTemplate: made } = await w
      .as(w.owner)
      .graphql(
        `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { template { id } templateVersion { id } } }`,
        { input: { organization: "default", name, document: content } },
      );
    await imported(made.templateVersion.id);
    return made.template.id;
  }
  const imported = (id: string) =>
    eventually(
      async () =>
        (await w.as(w.owner).graphql("query($id: UUID!) { templateVersion(id: $id) { isImported } }", { id }))
          .templateVersion.isImported,
      "the import",
      20_000,
    );
  const statusOf = async (name: string) =>
    (
      await w
        .as(ada)
        .graphql('query($name: String!) { workspaceByName(owner: "me", name: $name) { status } }', { name })
    ).workspaceByName.status;
  const cells = (output: string) =>
    output
      .trimEnd()
      .split("\n")
      .map((line) => line.split("\t"));
  describe("workspaces", () => {
    it("are created with parameters and a preset, shown, and listed", async () => {
      const words = ["--template", "box", "--preset", "big", "--parameter", "count=3", "--ttl", "2"];
      const { status, stdout, stderr } = await cli.run("workspaces", "create", "one", ...words);
      expect({ status, stdout }, stderr).to.deep.equal({
        status: 0,
        stdout: `Workspace ${ada.username}/one is running.\n`,
      });
      const shown = await cli.json("workspaces", "show", "one");
      expect(shown).to.deep.include({ name: "one", status: "RUNNING", isOutdated: false });
      expect(shown.latestBuild.parameters).to.deep.equal([
        { name: "size", value: "large" },
        { name: "count", value: "3" },
      ]);
      const lines = cells(await cli.output("workspaces", "show", `${ada.username}/one`));
      expect(lines).to.deep.include.members([
        ["Name", `${ada.username}/one`],
        ["Status", "running"],
        ["Template", "box"],
        ["Parameter size", "large"],
        ["Parameter count", "3"],
        ["Address", `${url}/workspaces/${shown.id}`],
      ]);
      expect(lines.map(([name]) => name))
        .to.include("Stops at")
        .and.include("Agent main");
      expect(cells(await cli.output("workspaces", "show", shown.id))).to.deep.equal(lines);

      await cli.output("workspaces", "create", "two", "--template", templateId, "--no-wait");
      const rows = cells(await cli.output("workspaces", "list"));
      expect(rows.map(([name, template]) => [name, template])).to.have.deep.members([
        [`${ada.username}/one`, "box"],
        [`${ada.username}/two`, "box"],
      ]);
      expect((await cli.json("workspaces", "list", "--search", "tw")).map((each: Anything) => each.name)).to.deep.equal(
        ["two"],
      );
      expect(await cli.json("workspaces", "list", "--status", "failed")).to.deep.equal([]);
      const { stdout: some, stderr: more } = await cli.run("workspaces", "list", "--limit", "1");
      expect(cells(some)).to.have.length(1);
      expect(more).to.include("There are more");
      expect(await cli.output("workspaces", "list", "--search", "nothing")).to.equal("");
    });

    it("are stopped, started, restarted, and updated to the active version", async () => {
      expect(await cli.output("workspaces", "stop", "one")).to.equal(`Workspace ${ada.username}/one is stopped.\n`);
      expect(await statusOf("one")).to.equal("STOPPED");
      const conflict = await cli.run("workspaces", "stop", "one");
      expect(conflict).to.deep.include({ status: 1, stdout: "" });
      expect(conflict.stderr).to.match(/stopped/);
      const started = await cli.json("workspaces", "start", "one", "--parameter", "count=4");
      expect(started).to.deep.include({ name: `${ada.username}/one`, transition: "START", isFinished: true });
      await cli.output("workspaces", "restart", "one", "--parameter", "size=small");
      const { latestBuild } = await cli.json("workspaces", "show", "one");
      expect(latestBuild).to.deep.include({ buildNumber: 5, transition: "START", status: "RUNNING" });
      expect(latestBuild.parameters).to.deep.equal([
        { name: "size", value: "small" },
        { name: "count", value: "4" },
      ]);

      expect(await cli.output("workspaces", "update", "one")).to.include("has the active version v1 already");
      const { createTemplateVersion } = await w
        .as(w.owner)
        .graphql(
          `mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }`,
          { input: { templateId, document, activate: true } },
        );
      await imported(createTemplateVersion.templateVersion.id);
      expect(cells(await cli.output("workspaces", "list", "--search", "one"))[0]![3]).to.equal("outdated");
      await cli.output("workspaces", "update", "one");
      const updated = await cli.json("workspaces", "show", "one");
      expect(updated).to.deep.include({ isOutdated: false, status: "RUNNING" });
      expect(updated.latestBuild).to.deep.include({ buildNumber: 7, templateVersionName: "v2" });
    });

    it("are not stopped for a start that would fail", async () => {
      const id = await createTemplate("grows", { ...document, presets: [] });
      await cli.output("workspaces", "create", "grown", "--template", "grows");
      const asOwner = w.as(w.owner);
      const { createTemplateVersion } = await asOwner.graphql(
        "mutation($input: CreateTemplateVersionInput!) { createTemplateVersion(input: $input) { templateVersion { id } } }",
        {
          input: {
            templateId: id,
            document: { ...document, presets: [], parameters: [document.parameters[0], { name: "region" }] },
            activate: true,
          },
        },
      );
      await imported(createTemplateVersion.templateVersion.id);
      const refuses = async (words: string[], version: string, ...faults: string[]) => {
        const { status, stdout, stderr } = await cli.run("workspaces", ...words);
        expect({ status, stdout }, version).to.deep.equal({ status: 1, stdout: "" });
        for (const fault of faults) expect(stderr).to.include(fault);
        expect(await statusOf("grown")).to.equal("RUNNING");
      };
      const odd = ["--parameter", "size=huge", "--parameter", "odd=1"];
      const oddFaults = ['odd: There is no parameter "odd".', 'size: "huge" is not one of the options.'];
      await refuses(["update", "grown"], "v2", "region: Is required.");
      await refuses(["update", "grown", ...odd], "v2", ...oddFaults, "region: Is required.");
      await refuses(["restart", "grown", ...odd], "v1", ...oddFaults);
      // A start moves to the active version where the template, or the owner, wants it, and where it must.
      const settings: Array<[settings: object, versionOfStart: string]> = [
        [{ automaticUpdates: "ALWAYS" }, "v2"],
        [{ automaticUpdates: "OWNERS_CHOICE" }, "v1"],
        [{ requireActiveVersion: true }, "v2"],
        [{ requireActiveVersion: false }, "v1"],
      ];
      for (const [changes, version] of settings) {
        await asOwner.graphql(
          "mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { __typename } }",
          {
            input: { templateId: id, ...changes },
          },
        );
        if (version === "v2") await refuses(["restart", "grown"], "v2", "region: Is required.");
        else await refuses(["restart", "grown", ...odd], "v1", ...oddFaults);
      }
      await cli.output("workspaces", "restart", "grown");
      await cli.output("workspaces", "update", "grown", "--parameter", "region=eu");
      const { latestBuild, isOutdated } = await cli.json("workspaces", "show", "grown");
      expect({ isOutdated, parameters: latestBuild.parameters }).to.deep.equal({
        isOutdated: false,
        parameters: [
          { name: "size", value: "small" },
          { name: "region", value: "eu" },
        ],
      });
    });

    it("have logs, and an address that a browser opens", async () => {
      const log = await cli.output("workspaces", "logs", "one");
      expect(log).to.not.equal("");
      const events = (await cli.output("workspaces", "logs", "one", "--json")).trimEnd().split("\n");
      expect(events.map((line) => JSON.parse(line).output)).to.have.length(log.trimEnd().split("\n").length);

      const opened = join(cli.directory, "opened");
      const browser = join(cli.directory, "browser");
      await writeFile(browser, `#!/bin/sh\necho "$@" > ${opened}\n`, { mode: 0o755 });
      const { stdout } = await cli.runWith({ env: { BROWSER: browser } }, "workspaces", "open", "one");
      expect(stdout).to.match(new RegExp(`^${url}/workspaces/[-0-9a-f]{36}\n$`));
      await eventually(async () => (await readFile(opened, "utf8").catch(() => "")) === stdout, "the browser");
    });

    it("are deleted after a confirmation, which needs a terminal or --yes", async () => {
      const unasked = await cli.run("workspaces", "delete", "two");
      expect(unasked).to.deep.include({ status: 2, stdout: "" });
      expect(unasked.stderr).to.match(/^There is no terminal to ask for confirmation: use --yes\.\n/);
      expect(await cli.output("workspaces", "delete", "two", "--yes")).to.equal(
        `Workspace ${ada.username}/two is deleted.\n`,
      );
      const missing = await cli.run("workspaces", "show", "two");
      expect(missing).to.deep.include({ status: 1, stdout: "" });
      expect(missing.stderr).to.equal('There is no workspace "two", or you do not have access to it.\n');
    });

    it("fail with the reason, or with the faults of the command line", async () => {
      await createTemplate("wrong", {
        ...document,
        parameters: [],
        presets: [],
        resources: [{ name: "box", agents: [], daily_cost: 5 }],
      });
      const over = await cli.run("workspaces", "create", "costly", "--template", "wrong");
      expect(over).to.deep.include({ status: 1, stdout: "" });
      expect(over.stderr).to.match(new RegExp(`The start of ${ada.username}/costly failed: .*quota`, "i"));
      const faults: Array<[words: string, status: number, says: RegExp]> = [
        ["create one", 2, /^Missing required options: --template\.\n.*workspaces create --help\n$/],
        ["create one --template box --parameter size", 2, /^--parameter must be NAME=VALUE, not "size"\./],
        ["create one --template box --ttl soon", 2, /^--ttl must be a number of hours\./],
        ["create one --template none", 1, /^There is no template "none", or you do not have access to it\.\n$/],
        ["create one --template box --preset none", 1, /has no preset "none"\. Its presets: Big, Plain\.\n$/],
        ["create bad_name --template box --parameter size=huge --parameter odd=1", 1, /^ {2}name: .*\n {2}parameters/m],
        ["list --status odd", 2, /^--status must be one of: pending, /],
        ["list --limit 0", 2, /^--limit must be a number from 1 to 1000\./],
        ["list now", 2, /^This command takes no arguments\./],
        ["list --odd", 2, /^Unknown option "--odd"\.\nFor help/],
        ["list --serach x", 2, /^Unknown option "--serach"\. Did you mean "--search"\?\n/],
        ["list --search", 2, /^--search needs a value\.\n/],
        [
          "list --search --all",
          2,
          /^--search needs a value\. One that begins with a dash follows a sign: --search=-value\.\n/,
        ],
        ["list --all=x", 2, /^--all takes no value\.\n/],
        ["start nothing", 1, /^There is no workspace "nothing", or you do not have access to it\.\n$/],
        ["show", 2, /^This command takes 1 argument\./],
        ["show a/b/c", 2, /^"a\/b\/c" must be a name, owner\/name, or an ID\./],
        ["odd", 2, /^Unknown command "workspaces odd"\.\n.*workspaces --help\n$/],
        ["strat", 2, /^Unknown command "workspaces strat"\. Did you mean "workspaces start"\?\n.*workspaces --help\n$/],
      ];
      for (const [words, status, says] of faults) {
        const ended = await cli.run("workspaces", ...words.split(" "));
        expect(ended.stderr, words).to.match(says);
        expect({ status: ended.status, stdout: ended.stdout }, words).to.deep.equal({ status, stdout: "" });
      }
    });

    it("of others can be listed and used by those who may, and by no others", async () => {
      const bob = await w.user("bob");
      const asBob = (...words: string[]) =>
        cli.runWith({ env: { STEWARD_URL: url, STEWARD_TOKEN: bob.token } }, ...words);
      expect((await asBob("workspaces", "list", "--all")).stdout).to.equal("");
      const foreign = await asBob("workspaces", "stop", `${ada.username}/one`);
      expect(foreign).to.deep.include({ status: 1, stdout: "" });
      expect(foreign.stderr).to.match(/^There is no workspace "ada-\d+\/one", or you do not have access to it\.\n$/);
      const asOwner = await cli.runWith(
        { env: { STEWARD_URL: url, STEWARD_TOKEN: w.owner.token } },
        "workspaces",
        "list",
        "--all",
      );
      expect(asOwner.stdout).to.include(`${ada.username}/one`);

      const { id } = await cli.json("workspaces", "show", "one");
      await w
        .as(ada)
        .graphql("mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }", {
          input: { workspace: id, userPerms: [{ id: bob.id, role: "use" }] },
        });
      const [row] = cells((await asBob("workspaces", "list", "--all")).stdout);
      expect(row![0]).to.equal(`${ada.username}/one`);
      const shared = await asBob("workspaces", "show", row![0]!, "--json");
      expect(JSON.parse(shared.stdout), shared.stderr).to.include({ id });
      expect(await asBob("workspaces", "stop", row![0]!)).to.include({ status: 1, stderr: "Forbidden.\n" });
    });

    it("are not waited for after Ctrl-C, which leaves the build alone", async () => {
      const key = await newKey(w);
      const daemon = (await serve(w.app, { key, query: "provisioner=held" })).work();
      const held = { schema: "steward.template/1", provisioner: "held", resources: [{ name: "box" }] };
      const creating = createTemplate("held", held);
      const carryOut = async (nr: number) => {
        const job = await daemon.job(nr);
        await daemon.call("acceptProvisionerJob", job);
        await daemon.call("reportProvisionerResources", job, { resources: held.resources });
        return job;
      };
      await daemon.call("completeProvisionerJob", await carryOut(0));
      await creating;

      const starting = cli.start(["workspaces", "create", "held", "--template", "held"]);
      const job = await carryOut(1);
      expect(starting.stderr()).to.not.include("daemon");
      const line = { level: "INFO", source: "PROVISIONER", createdAt: new Date().toISOString(), sequence: 1 };
      const output = "Almost \u001b[2Jthere";
      await daemon.call("updateProvisionerJob", job, { logs: [{ ...line, stage: "apply", output }] });
      // Without what a terminal would obey.
      await prints(starting, "apply: Almost there\n");
      starting.child.kill("SIGINT");
      expect(await starting.ended).to.equal(130);
      expect(starting.stdout()).to.equal("");
      expect(starting.stderr()).to.match(new RegExp(`Interrupted\\. The start of ${ada.username}/held goes on\\.\n$`));

      const follower = cli.start(["workspaces", "logs", "held", "--follow"]);
      await prints(follower, "Almost there");
      await daemon.call("completeProvisionerJob", job);
      await eventually(async () => (await statusOf("held")) === "RUNNING", "the build");
      daemon.close();
      follower.child.kill("SIGINT");
      expect(await follower.ended).to.equal(0);
    });
  });

  describe("that wait for a daemon", () => {
    const none = "Waiting for a provisioner daemon that offers absent: there is none yet.\n";
    const online = "A provisioner daemon is online now.\n";
    const offline = "Waiting for a provisioner daemon that offers absent: the only one is offline.\n";
    const awaited = { schema: "steward.template/1", provisioner: "absent", resources: [{ name: "box" }] };
    let key: string;
    const daemon = async () => serve(w.app, { key, query: "provisioner=absent&name=absent" });
    const goOffline = () =>
      setColumns(w, "provisioner_daemons", { name: "absent" }, { last_seen_at: new Date(Date.now() - 100_000) });
    /** Carries out the next job of a daemon. */
    async function carryOut(worker: Awaited<ReturnType<typeof daemon>>) {
      const job = await worker.work().job();
      await worker.call("acceptProvisionerJob", job);
      await worker.call("reportProvisionerResources", job, { resources: awaited.resources });
      await worker.call("completeProvisionerJob", job);
    }
    before(async () => {
      key = await newKey(w);
    });

    it("say why, and again when that changes", async () => {
      await mkdir(join(cli.directory, "absent"));
      await writeFile(join(cli.directory, "absent", "template.json"), JSON.stringify(awaited));
      const env = { STEWARD_URL: url, STEWARD_TOKEN: w.owner.token };
      const push = cli.start(["templates", "push", join(cli.directory, "absent")], { env });
      await prints(push, none);
      const first = await daemon();
      await prints(push, `${none}${online}`);
      await carryOut(first);
      expect(await push.ended, push.output()).to.equal(0);
      await first.leave();
      await goOffline();

      const create = cli.start(["workspaces", "create", "absent", "--template", "absent"]);
      await prints(create, offline);
      const second = await daemon();
      await prints(create, `${offline}${online}`);
      await second.leave();
      await goOffline();
      await prints(create, `${offline}${online}${offline}`);
      const third = await daemon();
      await carryOut(third);
      expect(await create.ended, create.output()).to.equal(0);
      expect(create.stderr().split(offline)).to.have.length(3);
      await third.leave();
    });

    it("are canceled after a confirmation, by those who may, and no others", async () => {
      const cancel = (...words: string[]) => cli.run("workspaces", "cancel", "absent", ...words);
      expect(await cancel("--yes")).to.deep.equal({
        status: 1,
        stdout: "",
        stderr: `Workspace ${ada.username}/absent has no build to cancel.\n`,
      });
      await cli.output("workspaces", "stop", "absent", "--no-wait");
      const unasked = await cancel();
      expect(unasked.status).to.equal(2);
      expect(unasked.stderr).to.match(/^There is no terminal to ask for confirmation: use --yes\.\n/);
      const asOwner = w.as(w.owner);
      const { template } = await cli.json("workspaces", "show", "absent");
      const allow = (allowUserCancel: boolean) =>
        asOwner.graphql("mutation($input: UpdateTemplateInput!) { updateTemplate(input: $input) { __typename } }", {
          input: { templateId: template.id, allowUserCancel },
        });
      await allow(false);
      expect(await cancel("--yes")).to.deep.equal({ status: 1, stdout: "", stderr: "Forbidden.\n" });
      await allow(true);
      const canceled = await cancel("--yes");
      expect(canceled.stdout, canceled.stderr).to.equal(`The stop of ${ada.username}/absent is canceled.\n`);
      expect(await statusOf("absent")).to.equal("CANCELED");

      // A daemon that works on the build ends it when it has been told to.
      const stopping = cli.start(["workspaces", "stop", "absent"]);
      const worker = (await daemon()).work();
      const job = await worker.job();
      await worker.call("acceptProvisionerJob", job);
      expect(await cli.json("workspaces", "cancel", "absent", "--yes", "--no-wait")).to.include({
        name: `${ada.username}/absent`,
        transition: "STOP",
        isFinished: false,
      });
      expect((await cancel("--yes")).stderr).to.equal("The job is being canceled already.\n");
      await eventually(
        () => worker.events.some((event) => event.__typename === "ProvisionerJobCancelRequested"),
        "the request",
      );
      await worker.call("failProvisionerJob", job, { error: "Canceled.", canceled: true });
      expect(await stopping.ended).to.equal(1);
      expect(stopping.stderr()).to.include(`The stop of ${ada.username}/absent was canceled.\n`);
      await worker.leave();
    });
  });

  describe("templates", () => {
    it("are listed, and shown with their parameters and presets", async () => {
      const rows = cells(await cli.output("templates", "list", "--search", "box"));
      expect(rows).to.deep.equal([["box", "main", "v2"]]);
      expect(cells(await cli.output("templates", "show", "box"))).to.deep.include.members([
        ["Name", "box"],
        ["Version", "v2"],
        ["Parameter size", 'string; default "small"; one of small, large'],
        ["Parameter count", 'number; default "1"'],
        ["Preset Big", "size=large"],
        ["Preset Plain", "no values"],
      ]);
      const { activeVersion } = await cli.json("templates", "show", templateId);
      expect(activeVersion.parameters.map((each: Anything) => each.name)).to.deep.equal(["size", "count"]);
      expect((await cli.run("templates", "show", "none")).status).to.equal(1);
    });

    it("are pushed with the login, by those who may", async () => {
      await mkdir(join(cli.directory, "pushed"));
      await writeFile(join(cli.directory, "pushed", "template.json"), JSON.stringify(document));
      const refused = await cli.run("templates", "push", join(cli.directory, "pushed"));
      expect(refused).to.deep.equal({ status: 1, stdout: "", stderr: "Forbidden.\n" });
      await w.grant(ada, "template-admin");
      expect(await cli.output("templates", "push", join(cli.directory, "pushed"))).to.equal(
        "Version v1 of the template pushed is imported, and new workspaces use it.\n",
      );
      await w.grant(ada);
    });
  });

  describe("tasks", () => {
    let program: AgentProgram;
    let stage: TaskStage;
    withTasks(
      () => w,
      (opened) => ({ program, stage } = opened),
    );

    it("show what their machine uses, and are told apart from a lost server if they cannot be reached", async () => {
      const { token } = await stage.active(ada, { name: "unreached" });
      expect(await cli.output("workspaces", "show", "unreached")).to.not.include("Usage");
      await stage
        .agent(token)
        .graphql(
          "mutation($input: ReportAgentResourcesInput!) { reportAgentResources(input: $input) { __typename } }",
          {
            input: { cpuUsedMillicores: 1260, cpuTotalMillicores: 4000, memoryUsedBytes: 3 * 1024 ** 3 },
          },
        );
      expect(await cli.output("workspaces", "show", "unreached")).to.include(
        "Usage\tprocessors 1.3 of 4, memory 3 GiB\n",
      );
      const follower = cli.start(["tasks", "logs", "unreached", "--follow"]);
      program.say("agent", "Before");
      await prints(follower, "program: Before");
      program.kill();
      await prints(follower, "Failed to reach the task app. Trying again…\n");
      program.revive();
      program.say("agent", "After");
      await prints(follower, "program: After");
      follower.child.kill("SIGINT");
      expect(await follower.ended).to.equal(0);
      expect(follower.stderr()).to.not.include("lost").and.not.include("Connected again");
    });
  });

  describe("secrets", () => {
    const value = "correct horse";
    it("are set from standard input or a file, never from an argument, and listed without their values", async () => {
      const set = (input: string, ...words: string[]) => cli.runWith({ input }, "secrets", "set", ...words);
      const made = await set(`${value}\n`, "token", "--variable", "API_TOKEN", "--description", "For builds");
      expect(made, made.stderr).to.deep.equal({ status: 0, stdout: "Secret token is created.\n", stderr: "" });
      expect(cells(await cli.output("secrets", "list"))).to.deep.equal([
        ["token", "API_TOKEN", "", "never", "For builds"],
      ]);
      const file = join(cli.directory, "key.pem");
      await writeFile(file, "line\nline\n");
      expect((await set("", "token", "--file", file)).stdout).to.equal("Secret token is changed.\n");
      // A file keeps its last line end; what was not named stays.
      expect(await secretValue()).to.equal("line\nline\n");
      expect((await cli.json("secrets", "list"))[0]).to.include({ envName: "API_TOKEN", description: "For builds" });
      await set(`${value}\n`, "token");
      expect(await secretValue()).to.equal(value);
      expect(await cli.output("secrets", "list", "--json")).to.not.include(value);

      expect(await set("", "token", value)).to.include({ status: 2, stdout: "" });
      expect((await set("", "token")).stderr).to.match(/^The value is empty\./);
      expect((await set("", "token", "--file", join(cli.directory, "none"))).stderr).to.include("(ENOENT)");
      await writeFile(file, Buffer.from([0xff, 0xfe, 0]));
      expect((await set("", "token", "--file", file)).stderr).to.equal(`${file} is not text in UTF-8.\n`);
      const faulty = await set("x", "other", "--variable", "1-2", "--path", "relative");
      expect(faulty.status).to.equal(1);
      expect(faulty.stderr)
        .to.match(/^ {2}envName: /m)
        .and.match(/^ {2}filePath: /m);
    });

    /** The value of the variable as the agent of a workspace gets it. */
    async function secretValue(): Promise<string> {
      const workspace = await w.workspace(ada);
      const { agentManifest } = await w.as(workspace.agent).graphql("{ agentManifest { secretEnv { name value } } }");
      return agentManifest.secretEnv.find((each) => each.name === "API_TOKEN")!.value;
    }

    it("are deleted", async () => {
      expect((await cli.run("secrets", "delete", "token")).status).to.equal(2);
      expect(await cli.output("secrets", "delete", "token", "--yes")).to.equal("Secret token is deleted.\n");
      expect((await cli.run("secrets", "delete", "token", "--yes")).status).to.equal(1);
      expect(await cli.output("secrets", "list")).to.equal("");
    });
  });

  describe("the inbox", () => {
    const send = async (title: string) => {
      const body = { content: { title, message: `About **${title}**.` } };
      expect((await w.as(ada).post("/api/v2/notifications/custom", body)).status).to.equal(204);
    };

    it("is listed and read", async () => {
      await cli.output("inbox", "read", "--all");
      await send("First");
      await send("Second");
      const unread = () => cli.json("inbox", "list", "--unread");
      await eventually(async () => (await unread()).length === 2, "both", 20_000);
      const [second, first] = await unread();
      expect([first.title, second.title]).to.deep.equal(["First", "Second"]);
      const [row] = cells(await cli.output("inbox", "list", "--limit", "1"));
      expect([row![0], row![2], row![3]]).to.deep.equal([second.id, "unread", "Second"]);
      expect(await cli.output("inbox", "read", first.id)).to.equal("1 notifications are unread.\n");
      expect((await unread()).map((each: Anything) => each.title)).to.deep.equal(["Second"]);
      expect(await cli.json("inbox", "read", first.id, "--unread")).to.deep.equal({ unreadCount: 2 });
      expect(await cli.output("inbox", "read", "--all")).to.equal("All notifications are read.\n");
      expect((await cli.run("inbox", "read")).status).to.equal(2);
      expect((await cli.run("inbox", "read", "--all", first.id)).status).to.equal(2);
      expect((await cli.run("inbox", "read", templateId)).status).to.equal(1);
    });

    it("is watched live, from the first unread notification on if that is wanted, until Ctrl-C", async () => {
      await send("Unread");
      await eventually(async () => (await cli.json("inbox", "list", "--unread")).length === 1, "the first", 20_000);
      const watch = cli.start(["inbox", "watch", "--unread"]);
      const asJson = cli.start(["inbox", "watch", "--json"]);
      await prints(watch, "Unread");
      await prints(asJson, "1 unread");
      await send("Live");
      await prints(watch, /Live\n {4}About Live\./);
      await prints(asJson, "Live");
      for (const program of [watch, asJson]) program.child.kill("SIGINT");
      expect([await watch.ended, await asJson.ended]).to.deep.equal([0, 0]);
      expect(asJson.stdout().trimEnd().split("\n")).to.have.length(1);
      expect(JSON.parse(asJson.stdout())).to.include({ title: "Live", content: "About **Live**.", readAt: null });
    });
  });

  describe("on a terminal", () => {
    /** Runs a command on a terminal, which `script` provides. */
    function onTerminal(words: string[], env: NodeJS.ProcessEnv = {}) {
      const line = [process.execPath, "dist/cli/main.js", ...words].map((word) => `'${word}'`).join(" ");
      const settings = join(cli.directory, "settings");
      const child = spawn("script", ["-qec", line, "/dev/null"], {
        env: { PATH: process.env.PATH, HOME: cli.directory, STEWARD_CONFIG_DIR: settings, TERM: "xterm", ...env },
      });
      let shown = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (shown += chunk.toString()));
      return {
        shown: () => shown.replaceAll("\r\n", "\n"),
        enter: (text: string) => child.stdin.write(text),
        ended: once(child, "close").then(([status]) => status as number),
      };
    }
    const shownBy = async (words: string[], env?: NodeJS.ProcessEnv) => {
      const terminal = onTerminal(words, env);
      expect(await terminal.ended, terminal.shown()).to.equal(0);
      return terminal.shown();
    };

    it("tables have headings, columns, and colors, except with NO_COLOR", async () => {
      const colored = await shownBy(["workspaces", "list", "--search", "one"]);
      expect(colored).to.include("\u001b[1mNAME\u001b[22m").and.include("\u001b[32mrunning\u001b[39m");
      const plain = await shownBy(["workspaces", "list", "--search", "one"], { NO_COLOR: "1" });
      const [headings, row] = plain.split("\n");
      expect(headings).to.match(/^NAME +TEMPLATE +STATUS +OUTDATED +LAST USED +HEALTH$/);
      expect(row!.indexOf("box")).to.equal(headings!.indexOf("TEMPLATE"));
      expect(plain).to.not.include("\u001b");
    });

    it("deletions ask, and do nothing without a yes", async () => {
      const ask = async (answer: string) => {
        const terminal = onTerminal(["workspaces", "delete", "held"]);
        await eventually(() => terminal.shown().includes("[y/N]"), "the question", 20_000);
        terminal.enter(`${answer}\r`);
        return { status: await terminal.ended, shown: terminal.shown() };
      };
      const refused = await ask("n");
      expect(refused.status).to.equal(1);
      expect(refused.shown).to.include(`Delete the workspace ${ada.username}/held and its data?`);
      expect(refused.shown).to.include("Nothing was changed.");
      expect(await statusOf("held")).to.equal("RUNNING");
    });

    it("secrets are entered without being shown", async () => {
      const terminal = onTerminal(["secrets", "set", "typed"]);
      await eventually(() => terminal.shown().includes("Value of typed:"), "the question", 20_000);
      terminal.enter("hidden value\r");
      expect(await terminal.ended).to.equal(0);
      expect(terminal.shown()).to.include("Secret typed is created.").and.not.include("hidden");
    });
  });

  it("print help for each command, within 80 columns", async () => {
    const help = await cli.output("--help");
    const names = [
      ...help.matchAll(/^ {2}((?:workspaces|tasks|templates|inbox|secrets|servers|log\w+|whoami)[a-z ]*)/gm),
    ];
    const commands = names.map(([, name]) => name!.trim());
    expect(commands).to.have.length(38);
    for (const group of ["workspaces", "tasks", "templates", "inbox", "secrets"])
      expect(await cli.output(group, "--help")).to.include(`${group} list`);
    for (const name of ["login", "workspaces create", "tasks create", "inbox read", "secrets set", "templates push"]) {
      const own = await cli.output(...name.split(" "), "--help");
      expect(own).to.include(`Usage: npm run steward -- ${name}`).and.include("--json");
      expect(own.split("\n").filter((line) => line.length > 80)).to.deep.equal([]);
    }
  });

  it("stop quietly if their reader does", async () => {
    const program = spawn("bash", ["-o", "pipefail", "-c", `"${process.execPath}" dist/cli/main.js --help | head -1`], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let errors = "";
    program.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
    program.stdout.resume();
    await once(program, "close");
    expect(errors).to.equal("");
  });

  it("are a program of npm in a clone", async () => {
    const program = spawn("npx", ["--offline", "steward", "whoami", "--json"], {
      env: {
        PATH: process.env.PATH,
        HOME: cli.directory,
        STEWARD_CONFIG_DIR: join(cli.directory, "settings"),
        npm_config_cache: join(cli.directory, "npm"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let printed = "";
    for (const stream of [program.stdout, program.stderr])
      stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    expect((await once(program, "close"))[0], printed).to.equal(0);
    expect(JSON.parse(printed.slice(printed.indexOf("{")))).to.include({ username: ada.username });
  });
});
