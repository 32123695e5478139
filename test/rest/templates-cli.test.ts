// `npm run steward -- templates push`, as its users run it: against a server whose own daemon imports the versions.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { newKey, serve } from "../support/provisioners.js";
import { command, spawnCommand } from "../support/process.js";
import { eventually } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

describe("templates push", () => {
  const the = world({ STEWARD_BUILTIN_DAEMON: "true" });
  let directory: string;
  let tina: Person;

  before(async () => {
    tina = await the().user("tina");
    await the().grant(tina, "template-admin");
  });
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "template-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const settings = (token = tina.token) => ({ STEWARD_URL: the().url, STEWARD_TOKEN: token });
  const write = (name: string, content: unknown) =>
    writeFile(join(directory, name), typeof content === "string" ? content : JSON.stringify(content, null, 2));
  const push = (...words: string[]) => command(settings(), "templates", "push", directory, ...words);
  const echo = { schema: "steward.template/1", provisioner: "echo" };
  const versionsOf = async (name: string) => {
    const { templateByName } = await the()
      .as(the().owner)
      .graphql(
        `{ templateByName(organization: "default", name: "${name}") {
             activeVersion { name } versions { nodes { name isImported parameters { name } } } } }`,
      );
    return { active: templateByName.activeVersion?.name, versions: templateByName.versions.nodes };
  };

  it("creates a template, and then versions of it that become active once they are imported", async () => {
    await write("template.json", { $schema: "https://example.com/schema.json", ...echo });
    const done = { status: 0, stderr: "" };
    expect(await push("--name", "box")).to.deep.equal({
      ...done,
      stdout: "Version v1 of the template box is imported, and new workspaces use it.\n",
    });
    await write("template.json", { ...echo, parameters: [{ name: "size", default: "small" }] });
    expect(await push("--name", "box", "--version-name", "sized")).to.deep.equal({
      ...done,
      stdout: "Version sized of the template box is imported, and new workspaces use it.\n",
    });
    expect(await push("--name", "box", "--no-activate", "--organization", the().defaultOrganization)).to.deep.equal({
      ...done,
      stdout: "Version v3 of the template box is imported.\n",
    });
    const { active, versions } = await versionsOf("box");
    expect(active).to.equal("sized");
    expect(versions.map((each: { name: string }) => each.name)).to.deep.equal(["v3", "sized", "v1"]);
    expect(versions[1]).to.deep.include({ isImported: true, parameters: [{ name: "size" }] });
  });

  it("is named after its directory, takes values of variables, and works with an API token of few scopes", async () => {
    directory = await mkdtemp(join(tmpdir(), "named-"));
    await write("template.json", { ...echo, variables: [{ name: "image" }, { name: "count", type: "number" }] });
    await write("variables.json", { image: "debian", count: 2 });
    const { token } = await the().scoped(tina, "template:*", "organization:read", "provisioner_job:read");
    await write("token", `${token}\n`);
    const environment = { STEWARD_URL: the().url, STEWARD_TOKEN_FILE: join(directory, "token") };
    const { status, stdout } = await command(environment, "templates", "push", directory, "--name", "named");
    expect({ status, stdout }).to.deep.equal({
      status: 0,
      stdout: "Version v1 of the template named is imported, and new workspaces use it.\n",
    });
    const other = await command(settings(), "templates", "push", directory);
    // The name of a temporary directory may not be one of a template.
    expect(other.stdout).to.match(/^(Version v1 of the template named-\w+ is|--name: )/);
  });

  it("prints every fault of the document with its line and column, and changes nothing", async () => {
    await write(
      "template.json",
      `{
  "schema": "steward.template/1",
  "provisioner": "echo",
  "color": "red",
  "parameters": [{ "name": "n", "type": "number", "default": "x" }],
  "resources": [
    {
      "name": "box",
      "agents": [
        { "name": "Main", "os": "linux", "env": { "A.B[0]": 1, "A": 2 } }
      ]
    }
  ]
}`,
    );
    const { status, stdout, stderr } = await push("--name", "faulty");
    expect({ status, stderr }).to.deep.equal({ status: 1, stderr: "" });
    const path = join(directory, "template.json");
    const lines = stdout.trimEnd().split("\n");
    expect(lines.pop()).to.equal("The template was not changed.");
    expect(lines.every((line) => line.startsWith(`${path}:`))).to.equal(true);
    const found = lines.map((line) =>
      line
        .slice(path.length + 1)
        .split(": ")
        .slice(0, 2),
    );
    expect(found).to.deep.equal([
      ["4:12", "color"],
      ["5:62", "parameters[0].default"],
      // What is missing is reported at the object that lacks it.
      ["10:9", "resources[0].agents[0].arch"],
      ["10:19", "resources[0].agents[0].name"],
      ["10:61", "resources[0].agents[0].env.A.B[0]"],
      ["10:61", "resources[0].agents[0].env.A.B[0]"],
      ["10:69", "resources[0].agents[0].env.A"],
    ]);
    const read = `{ templateByName(organization: "default", name: "faulty") { id } }`;
    expect((await the().as(the().owner).failure(read)).code).to.equal("NOT_FOUND");
  });

  it("prints faults of the syntax, of variables, and of options where they are", async () => {
    const path = join(directory, "template.json");
    await write("template.json", '{\n  "schema": "x",\n  // A comment.\n  "provisioner": }\n');
    const syntax = await push();
    expect(syntax.status).to.equal(1);
    expect(syntax.stdout).to.include(`${path}:3:3: Invalid comment token.`).and.include(`${path}:4:18: `);
    await write("template.json", "[]");
    expect((await push()).stdout).to.equal(`${path}:1:1: Must be a JSON object.\n`);

    await write("template.json", { ...echo, variables: [{ name: "count", type: "number" }] });
    await write("variables.json", '{\n  "count": "many",\n  "other": "secret-word" }');
    const { stdout } = await push("--name", "not a name");
    const variables = join(directory, "variables.json");
    const lines = stdout.split("\n");
    expect(lines[0]).to.match(/^--name: /);
    expect(stdout).to.include(`${variables}:2:12: count: `).and.include(`${variables}:3:12: other: `);
    expect(stdout).to.not.include("secret-word");
  });

  it("prints the log and the error of an import that fails, and leaves the active version", async () => {
    const key = await newKey(the());
    const daemon = (await serve(the().app, { key, query: "provisioner=odd" })).work();
    await write("template.json", { ...echo, provisioner: "odd" });
    const pushing = push("--name", "odd");
    await eventually(() => daemon.assigned.length > 0, "the import is assigned", 20_000);
    const job = await daemon.job(0);
    await daemon.call("acceptProvisionerJob", job);
    const line = { level: "INFO", source: "PROVISIONER", createdAt: new Date().toISOString() };
    await daemon.call("updateProvisionerJob", job, {
      logs: [
        { ...line, sequence: 1, stage: "plan", output: "Planning" },
        { ...line, sequence: 2, stage: "", output: "No such image" },
      ],
    });
    await daemon.call("failProvisionerJob", job, { error: "The plan failed." });
    expect(await pushing).to.deep.equal({
      status: 1,
      stdout: "plan: Planning\nNo such image\nThe import of version v1 failed: The plan failed.\n",
      stderr: "",
    });
    expect((await versionsOf("odd")).active).to.equal(undefined);
    daemon.close();
  });

  it("says that it waits for a daemon if none offers the provisioner", async () => {
    await write("template.json", { ...echo, provisioner: "nowhere" });
    const pushing = spawnCommand(settings(), "templates", "push", directory, "--name", "waiting");
    await eventually(() => pushing.stderr().includes("offers nowhere: there is none yet."), "it says so", 20_000);
    const { templateByName } = await the()
      .as(the().owner)
      .graphql(`{ templateByName(organization: "default", name: "waiting") { versions { nodes { job { id } } } } }`);
    const { job } = templateByName.versions.nodes[0]!;
    await the()
      .as(the().owner)
      .graphql(`mutation { cancelProvisionerJob(input: { job: "${job.id}" }) { __typename } }`);
    expect(await pushing.ended).to.equal(1);
    expect(pushing.stdout()).to.equal("The import of version v1 failed: canceled\n");
  });

  it("goes on from a starter, and from what the server has", async () => {
    const run = (...words: string[]) => command(settings(), "templates", ...words);
    const place = join(directory, "begun");
    const begun = await run("init", place, "--starter", "external");
    expect(begun).to.include({ status: 0, stderr: "" });
    expect(begun.stdout).to.include(`${join(place, "template.json")} is written.`);
    const again = await run("init", place);
    expect(again).to.deep.include({ status: 1, stdout: "" });
    expect(again.stderr).to.include("To replace it, use --force.");
    expect(await run("init", place, "--starter", "none")).to.include({ status: 2 });
    const written = async (at: string) => JSON.parse(await readFile(join(at, "template.json"), "utf8"));
    expect((await written(place)).resources[0].agents[0].external).to.equal(true);
    expect(await run("push", place)).to.include({ status: 0, stderr: "" });
    expect(await run("init", place, "--force")).to.include({ status: 0 });
    expect(await run("push", place, "--version-name", "second", "--no-activate")).to.include({ status: 0 });

    const versions = await run("versions", "begun", "--columns", "version,state,by");
    expect(versions.stdout).to.equal(`second\t\t${tina.username}\nv1\tactive\t${tina.username}\n`);
    const listed = JSON.parse((await run("versions", "begun", "--json")).stdout);
    expect(listed.map(({ name, isActive }: { name: string; isActive: boolean }) => [name, isActive])).to.deep.equal([
      ["second", false],
      ["v1", true],
    ]);

    const copy = join(directory, "copy");
    const pulled = await run("pull", "begun", copy);
    expect(pulled.stdout).to.equal(`${join(copy, "template.json")} has version v1 of the template begun.\n`);
    expect((await written(copy)).resources[0].agents[0].external).to.equal(true);
    expect((await run("pull", "begun", copy, "--version", "second")).status).to.equal(1);
    expect((await run("pull", "begun", copy, "--version", "second", "--force")).status).to.equal(0);
    expect((await written(copy)).provisioner).to.equal("echo");
    expect(await run("push", copy, "--name", "begun"), "what was pulled can be pushed").to.include({ status: 0 });
    expect((await run("pull", "begun", copy, "--version", "third")).stderr).to.include('has no version "third"');
    expect((await run("pull", "nothing")).stderr).to.include('There is no template "nothing"');
    const narrow = await the().scoped(tina, "template:read", "organization:read");
    const { status, stderr } = await command(settings(narrow.token), "templates", "pull", "begun", copy, "--force");
    expect({ status, stderr }).to.deep.include({ status: 1 });
    expect(stderr).to.include("file:read");
  });

  it("begins with starters that the server takes", async () => {
    for (const starter of ["echo", "agentapi", "acp", "external"]) {
      const place = join(directory, `of-${starter}`);
      expect(await command(settings(), "templates", "init", place, "--starter", starter)).to.include({ status: 0 });
      const document = JSON.parse(await readFile(join(place, "template.json"), "utf8"));
      const variables = (document.variables ?? []).map(({ name }: { name: string }) => ({
        name,
        value: "/opt/program",
      }));
      const { createTemplate } = await the()
        .as(tina)
        .graphql(`mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { template { name } } }`, {
          input: { organization: "default", name: `of-${starter}`, document, variables },
        });
      expect(createTemplate.template.name).to.equal(`of-${starter}`);
    }
  });

  it("fails for others, without a credential, and where there is no server", async () => {
    await write("template.json", echo);
    const eve = await the().user("eve");
    const run = (environment: NodeJS.ProcessEnv, ...words: string[]) =>
      command(environment, "templates", "push", ...words);
    const forbidden = await run(settings(eve.token), directory, "--name", "hers");
    expect(forbidden).to.deep.equal({ status: 1, stdout: "", stderr: "Forbidden.\n" });
    const narrow = await the().scoped(tina, "template:read");
    expect((await run(settings(narrow.token), directory, "--name", "hers")).status).to.equal(1);
    const rejected = await run(settings("stw_se_wrong"), directory);
    expect(rejected).to.include({ status: 3, stdout: "" });
    expect(rejected.stderr).to.include("does not accept the token of STEWARD_TOKEN");
    const missing = await run({ STEWARD_CONFIG_DIR: directory }, directory);
    expect(missing).to.include({ status: 3, stdout: "" });
    expect(missing.stderr).to.include("You are not signed in").and.include("STEWARD_TOKEN");
    expect(await run(settings())).to.include({ status: 2 });
    expect((await run(settings(), join(directory, "none"))).stderr).to.match(
      /template\.json cannot be read \(ENOENT\)/,
    );
    const nowhere = await run({ ...settings(), STEWARD_URL: "http://127.0.0.1:1" }, directory);
    expect(nowhere).to.include({ status: 1 });
    expect(nowhere.stderr).to.match(/^http:\/\/127\.0\.0\.1:1 cannot be reached: /);
  });

  it("does not send its token where a server redirects it", async () => {
    await write("template.json", echo);
    const seen: Array<string | undefined> = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    });
    const redirecting = createServer((_, response) => {
      response.writeHead(307, { Location: urlOf(elsewhere) }).end();
    });
    const urlOf = (server: typeof elsewhere) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const server of [elsewhere, redirecting])
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { status } = await command(
      { ...settings(), STEWARD_URL: urlOf(redirecting) },
      "templates",
      "push",
      directory,
    );
    expect(status).to.equal(1);
    expect(seen).to.deep.equal([]);
    for (const server of [elsewhere, redirecting]) server.close();
  });
});
