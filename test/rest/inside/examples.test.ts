// The example programs, run as they are.
// Looks inside: the command of the example is rendered as the provisioner does, without a workspace.
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "chai";
import { Client as DemoClient, type Data, Failure } from "../../../examples/demo/client.js";
import { conversations, emailOf, firstInput, people, tasks, workspaces } from "../../../examples/demo/company.js";
import { fillServer } from "../../../examples/demo/fill.js";
import { renderResources, valuesOf } from "../../../clients/daemon/render.js";
import { DemoRun } from "../../support/demo.js";
import { type Program, spawnProgram } from "../../support/process.js";
import { freePort } from "../../support/ports.js";
import { makeTemplate } from "../../support/templates.js";
import { raw } from "../../support/raw.js";
import { eventually, slowness } from "../../support/watchers.js";
import { startWorld } from "../../support/world.js";
import { standInWorkspace, StandInSteward } from "../../support/stand-in-steward.js";

interface Message {
  id: number;
  role: string;
  content: string;
  time: string;
}

describe("the example agentapi-echo", () => {
  let program: Program;
  let url: string;
  /** Milliseconds of work per message. */
  const work = (milliseconds: number) => String(Math.round(milliseconds * slowness()));

  /** Starts the program, and waits until it listens. */
  async function chat(settings: NodeJS.ProcessEnv, ...words: string[]) {
    const port = await freePort("127.0.0.1");
    url = `http://127.0.0.1:${port}`;
    program = spawnProgram("examples/agentapi-echo/chat.mjs", ["--port", String(port), ...words], settings);
    await once(program.child.stdout!, "data");
  }
  afterEach(async () => {
    program.child.kill("SIGTERM");
    expect(await program.ended).to.equal(0);
  });

  const get = async (path: string) => (await (await fetch(url + path)).json()) as Record<string, unknown>;
  const post = (body: unknown) =>
    fetch(`${url}/message`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });

  /** Reads the events of the program until one satisfies the condition. */
  async function eventsUntil(isLast: (event: string, data: Record<string, unknown>) => boolean): Promise<string[]> {
    const seen: string[] = [];
    const response = await fetch(`${url}/events`);
    expect(response.headers.get("content-type")).to.equal("text/event-stream");
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop()!;
      for (const block of blocks) {
        const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
        seen.push(event);
        if (isLast(event, JSON.parse(data) as Record<string, unknown>)) return seen;
      }
    }
    throw new Error("The events ended.");
  }
  const isReply = (event: string, data: Record<string, unknown>) => event === "message_update" && data.role === "agent";

  it("repeats a message after a moment of work, and rejects another one meanwhile", async () => {
    // The requests of the test arrive during the work.
    await chat({}, "--model", "large", "--work", work(6_000));
    expect(await get("/status")).to.include({ status: "stable" });
    const reply = eventsUntil(isReply);
    const sent = await post({ type: "user", content: "Hello" });
    expect([sent.status, await sent.json()]).to.deep.equal([200, { ok: true }]);
    expect(await get("/status")).to.include({ status: "running" });
    expect((await post({ type: "user", content: "Again" })).status).to.equal(409);
    await reply;
    const { messages } = (await get("/messages")) as { messages: Message[] };
    expect(messages.map(({ id, role, content }) => [id, role, content])).to.deep.equal([
      [0, "user", "Hello"],
      [1, "agent", "large echo: Hello"],
    ]);
    expect(messages[0]!.time).to.match(/^\d{4}-.*Z$/);
  });

  it("rejects malformed messages and unknown paths", async () => {
    await chat({});
    for (const body of [{}, { type: "user" }, { type: "other", content: "x" }, [], null, "x"])
      expect((await post(body)).status, JSON.stringify(body)).to.equal(422);
    expect((await fetch(`${url}/other`)).status).to.equal(404);
  });

  it("takes requests from the agent of its task alone: by their token, as JSON, and with a Host of this machine", async () => {
    const bearer = "a-token-of-this-start";
    await chat({ STEWARD_TASK_APP_TOKEN: bearer });
    const { host } = new URL(url);
    /** The statuses with other headers than the right ones; undefined leaves a header out. */
    const statusWith = async (path: string, changes: Record<string, string | undefined>, body?: string) => {
      const headers: Record<string, string | undefined> = { Authorization: `Bearer ${bearer}`, Host: host, ...changes };
      if (body !== undefined) Object.assign(headers, { "Content-Length": String(Buffer.byteLength(body)) });
      const lines = Object.entries(headers).flatMap(([name, value]) =>
        value === undefined ? [] : `${name}: ${value}`,
      );
      const head = `${body === undefined ? "GET" : "POST"} ${path} HTTP/1.1`;
      const { statuses } = await raw(url, [head, ...lines, "Connection: close", "", body ?? ""].join("\r\n"));
      return statuses[0];
    };
    expect(await statusWith("/status", {})).to.equal(200);
    for (const Authorization of [undefined, "", bearer, `Bearer ${bearer}x`, "Bearer", `Basic ${bearer}`])
      for (const path of ["/status", "/messages", "/events", "/other"])
        expect(await statusWith(path, { Authorization }), `${path} ${Authorization}`).to.equal(401);
    // A web page whose name points to this machine reaches the port, with its own name as the Host.
    for (const Host of ["attacker.example", `attacker.example:${new URL(url).port}`, "localhost.attacker.example", ""])
      expect(await statusWith("/status", { Host }), Host).to.equal(421);
    for (const Host of [host, "localhost", "LOCALHOST:1", "[::1]:3284"])
      expect(await statusWith("/status", { Host }), Host).to.equal(200);
    // Forms of web pages need no preflight, and are none of JSON.
    const message = JSON.stringify({ type: "user", content: "Hello" });
    for (const type of [
      undefined,
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ])
      expect(await statusWith("/message", { "Content-Type": type }, message), type).to.equal(415);
    expect(await statusWith("/message", { "Content-Type": "application/json; charset=utf-8" }, message)).to.equal(200);
    expect(
      await statusWith("/message", { "Content-Type": "application/json", Authorization: undefined }, message),
    ).to.equal(401);
  });

  it("begins with the prompt of its task, and reports its state to the server", async () => {
    const steward = await StandInSteward.start();
    const agent = steward.addAgent({ agentName: "main" });
    const settings = { STEWARD_TASK_PROMPT: "Do it", STEWARD_URL: steward.url, STEWARD_AGENT_TOKEN: agent.token };
    await chat(settings, "--work", work(1_500));
    await eventsUntil(isReply);
    await agent.until(() => agent.inputsOf("reportAppStatus").length === 2);
    expect(agent.inputsOf("reportAppStatus").map(({ appSlug, state }) => [appSlug, state])).to.deep.equal([
      ["chat", "WORKING"],
      ["chat", "IDLE"],
    ]);
    await steward.stop();
  });

  it("has a template that starts it", async () => {
    await chat({});
    const document = JSON.parse(await readFile("examples/agentapi-echo/template.json", "utf8")) as never;
    const assignment = {
      document,
      variables: [{ name: "program", value: "/chat.mjs" }],
      parameters: [{ name: "model", value: "large" }],
      transition: "START" as const,
      workspace: standInWorkspace(),
      task: null,
      buildNumber: 1,
      claim: false,
      state: null,
      accessUrl: "",
    };
    const values = { ...valuesOf(assignment), port: () => "20001", host: () => "127.0.0.1" };
    const [{ agents }] = renderResources(assignment, values) as unknown as [{ agents: Array<{ command: string[] }> }];
    const words = ["--host", "127.0.0.1", "--port", "20001", "--model", "large"];
    expect(agents[0]!.command).to.deep.equal(["node", "/chat.mjs", ...words]);
  });
});

describe("npm run demo", () => {
  let directory: string;
  let port: number;
  let run: DemoRun | undefined;
  before(async () => {
    directory = join(await mkdtemp(join(tmpdir(), "steward-demo-")), "demo-data");
    await chmod(dirname(directory), 0o755);
    port = await freePort("127.0.0.1");
  });
  afterEach(async () => {
    await run?.stop();
    run = undefined;
  });
  after(() => rm(dirname(directory), { recursive: true, maxRetries: 5 }));

  it("fills a server of its own with all areas and a history, and is never silent for more than 3 seconds", async () => {
    run = await DemoRun.start(directory, port);
    expect(run.url()).to.equal(`http://localhost:${port}`);
    expect(run.longestSilence).to.be.below(3_000 * slowness());
    const owner = await run.as("olivia");
    const seen = await owner.run(`{
      users { totalCount nodes { createdAt } } groups { totalCount } organizations { id } licenses { id }
      entitlements { hasLicense errors warnings }
      workspaces { nodes { createdAt status latestBuild { resources { agents { status } } } } }
      templates { totalCount } tasks { nodes { id name status } }
      provisionerKeys(organization: "default") { name } provisionerDaemons(organization: "default") { name status }
      workspaceProxies { name status { status } } oauth2Apps { totalCount } oauth2Grants { nodes { id } }
      scimKeys { totalCount } scim: auditEvents(filter: { resourceType: "user" }) { nodes { actorKind } }
      externalAuthLinks { providerId } userSecrets { name } inboxNotifications { totalCount }
      failed: notificationMessages(filter: { state: PERMANENT_FAILURE }) { totalCount }
      logins: auditEvents(filter: { action: LOGIN }) { nodes { time } }
      connectionLogs { nodes { connectTime } } appearance { applicationName } quietHours { userSet }
      aiSpend(user: "liam") { spentMicros }
    }`);
    for (const [field, value] of Object.entries<Data>(seen)) {
      const list = value.nodes ?? value;
      expect(value.totalCount ?? list.length ?? 1, field).to.be.greaterThan(0);
    }
    expect(seen.entitlements).to.deep.equal({ hasLicense: true, errors: [], warnings: [] });
    const daysOf = (times: string[]) => new Set(times.map((time) => time.slice(0, 10))).size;
    expect(daysOf(seen.logins.nodes.map(({ time }: Data) => time))).to.be.at.least(3);
    const oldest = Math.min(...seen.users.nodes.map(({ createdAt }: Data) => Date.parse(createdAt as string)));
    expect(Date.now() - oldest).to.be.greaterThan(2 * 86_400_000);
    expect(seen.scim.nodes.map(({ actorKind }: Data) => actorKind)).to.include("scim_key");
    const agents = seen.workspaces.nodes.flatMap(({ latestBuild }: Data) =>
      latestBuild.resources.flatMap(({ agents: some }: Data) => some.map(({ status }: Data) => status)),
    );
    expect(agents).to.include("CONNECTED").and.not.include("DISCONNECTED");
    expect(seen.provisionerDaemons.find(({ name }: Data) => name === "rack-3").status).not.to.equal("OFFLINE");
    const lisbon = `{ workspaceProxies { name status { status } } }`;
    const proxies = (await owner.run(lisbon)).workspaceProxies;
    expect(proxies.find(({ name }: Data) => name === "lisbon").status.status).not.to.equal("UNREGISTERED");
  });

  it("shows the same company again, whose tasks remember what was said, and lets the owner's browser in once", async () => {
    run = await DemoRun.start(directory, port);
    expect(run.program.output()).to.contain("as you left it");
    const liam = await run.as("liam");
    const logs = (id: string) => liam.run(`{ task(task: "${id}") { logs { entries { content } } } }`);
    const find = async (): Promise<Data> =>
      (await liam.run(`{ tasks { nodes { id name status } } }`)).tasks.nodes.find(
        ({ name }: Data) => name === "flaky-upload",
      );
    await eventually(async () => (await find())?.status === "ACTIVE", "the program of the task", 60_000);
    const { entries } = (await logs((await find())!.id as string)).task.logs;
    const said = entries.map(({ content }: Data) => content as string);
    expect(said.slice(1, 1 + conversations["flaky-upload"]!.length)).to.deep.equal(conversations["flaky-upload"]);
    expect(said).to.include(firstInput.input);
    const door = run.door();
    const opened = await fetch(door, { redirect: "manual" });
    expect([opened.status, opened.headers.get("location")]).to.deep.equal([303, run.url()]);
    const cookie = opened.headers
      .getSetCookie()
      .map((each) => each.split(";")[0])
      .join("; ");
    const page = await fetch(run.url(), { headers: { cookie }, redirect: "manual" });
    expect(page.status).to.equal(200);
    expect((await fetch(door, { redirect: "manual" })).status).to.equal(404);

    const second = spawnProgram("dist/demo.mjs", [], { STEWARD_DEMO_DIR: directory });
    expect([await second.ended, second.stderr()]).to.deep.equal([
      1,
      `The demonstration is running already, at ${run.url()} (process ${run.program.child.pid}).\n`,
    ]);
  });

  it("prints accounts that see what it says", async () => {
    run = await DemoRun.start(directory, port);
    const amara = await run.as("amara");
    const liam = await run.as("liam");
    const readUsers = `{ users { totalCount } }`;
    expect((await amara.run(readUsers)).users.totalCount).to.be.greaterThan(people.length);
    for (const [client, query] of [
      [amara, "{ auditEvents { totalCount } }"],
      [liam, "{ auditEvents { totalCount } }"],
      [liam, "{ licenses { id } }"],
    ] as const)
      expect(await client.run(query).catch((error: unknown) => error))
        .to.be.instanceOf(Failure)
        .with.property("code", "FORBIDDEN");
    const { workspaces: own } = await liam.run(`{ workspaces { nodes { owner { username } } } }`);
    expect(own.nodes.every(({ owner }: Data) => owner.username === "liam")).to.equal(true);
  });

  it("starts from scratch with --fresh", async () => {
    const before = await readFile(join(directory, "demo.json"), "utf8");
    run = await DemoRun.start(directory, port, 3, "--fresh");
    expect(run.program.output()).not.to.contain("as you left it");
    expect(await readFile(join(directory, "demo.json"), "utf8")).not.to.equal(before);
  });

  it("leaves other directories and wrong options as they are", async () => {
    await writeFile(join(dirname(directory), "precious"), "");
    const other = spawnProgram("dist/demo.mjs", ["--fresh"], { STEWARD_DEMO_DIR: dirname(directory) });
    expect(await other.ended).to.equal(1);
    expect(other.stderr()).to.contain("has other files");
    expect(await readFile(join(dirname(directory), "precious"), "utf8")).to.equal("");
    const misused = spawnProgram("dist/demo.mjs", ["--fersh"], {});
    expect([await misused.ended, misused.stderr()]).to.satisfy(
      ([status, text]: [number, string]) => status === 2 && text.includes("--help"),
    );
  });
});

describe("the demonstration", () => {
  it("fills a server that is in use through the public API, and rejects it the second time", async () => {
    const w = await startWorld({ STEWARD_BUILTIN_DAEMON: "true" });
    try {
      const other = await w.user("other");
      await w.group(undefined, { members: [other] });
      await makeTemplate(w);
      const owner = new DemoClient(w.url, w.owner.token);
      const steps = new Set<string>();
      const { username, password } = await fillServer(owner, (what) => steps.add(what));
      expect([...steps]).to.include.members(["People", "Groups", "Templates", "Workspaces", "Tasks", "Secrets"]);
      const { users, all, done, inbox, logs } = await w.as(w.owner).graphql(`{
        users { totalCount } all: workspaces { totalCount } logs: connectionLogs { totalCount }
        done: tasks { nodes { name status currentState { state } } } inbox: inboxNotifications { totalCount } }`);
      expect(users.totalCount).to.equal(2 + people.length);
      expect(all.totalCount).to.equal(workspaces.length + tasks.length);
      expect(
        done.nodes.map(({ currentState }: { currentState?: { state: string } }) => currentState?.state),
      ).to.include.members(["WORKING", "COMPLETE", "IDLE"]);
      expect([inbox.totalCount, logs.totalCount].every((count) => count > 0)).to.equal(true);
      const token = await w.login(emailOf({ username }), password);
      const seen = await w.as({ token }).graphql(`{ workspaces { nodes { name } } tasks { nodes { name } } }`);
      for (const { nodes } of [seen.workspaces, seen.tasks]) expect(nodes).not.to.deep.equal([]);

      const refused = await fillServer(owner, () => {}).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(Failure).with.property("code", "CONFLICT");
      expect(String(refused)).to.contain("organization lab, user amara").and.contain("provisioner key build-rack");
    } finally {
      await w.close();
    }
  });
});
