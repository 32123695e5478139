// The example programs, run as they are.
// Looks inside: the command of the example is rendered as the provisioner does, without a workspace.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { Client as DemoClient, Failure } from "../examples/demo/client.js";
import { emailOf, people, tasks, workspaces } from "../examples/demo/company.js";
import { fillServer } from "../examples/demo/fill.js";
import { renderResources, valuesOf } from "../src/provisioner/render.js";
import { type Program, spawnProgram } from "./support/process.js";
import { freePort } from "./support/ports.js";
import { makeTemplate } from "./support/templates.js";
import { startWorld } from "./support/world.js";
import { standInWorkspace, StandInSteward } from "./support/stand-in-steward.js";

interface Message {
  id: number;
  role: string;
  content: string;
  time: string;
}

describe("the example agentapi-echo", () => {
  let program: Program;
  let url: string;

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
    await chat({}, "--model", "large", "--work", "200");
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

  it("begins with the prompt of its task, and reports its state to the server", async () => {
    const steward = await StandInSteward.start();
    const agent = steward.addAgent({ agentName: "main" });
    const settings = { STEWARD_TASK_PROMPT: "Do it", STEWARD_URL: steward.url, STEWARD_AGENT_TOKEN: agent.token };
    await chat(settings);
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
