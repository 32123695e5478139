// Tasks whose programs speak the Agent Client Protocol: real processes by the agent side of the SDK, started by the daemon.
// Reaches for tables: that an agent has fallen silent is noticed after half a minute, for which no test waits.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { rolldown } from "rolldown";
import { type App, startServer } from "../support/app.js";
import { node } from "../support/children.js";
import { UserCli } from "../support/cli.js";
import { type Program, spawnProgram, spawnServer } from "../support/process.js";
import { newKey } from "../support/provisioners.js";
import { noticeLost } from "../support/background.js";
import { setColumns } from "../support/tables.js";
import { TaskStage, taskDocument } from "../support/tasks.js";
import { AgentProgram } from "../support/agent-api.js";
import { eventually } from "../support/watchers.js";
import { type Anything, Client, GraphqlFailure, type Person, world } from "../support/world.js";

const tasks = "/api/v2/tasks";

/** Milliseconds for what processes do. */
const timeout = 30_000;

const query = `query($id: String!) { task(task: $id) { status currentState { state message } conversation {
  protocol state stateMessage messages(first: 1000) { nodes { id role isCut writtenAt parts { __typename
    ... on TextPart { text } ... on ToolCallPart { toolCallId title status input }
    ... on ToolResultPart { result: text isError } ... on PermissionPart { requestId title options { id name kind } optionId isCanceled }
    ... on InterruptPart { reason: text } } } } } } }`;

const codeOf = (operation: Promise<unknown>): Promise<string> =>
  operation.then(
    () => "none",
    (error: unknown) => {
      if (error instanceof GraphqlFailure) return error.code;
      throw error;
    },
  );

describe("tasks with programs that speak ACP", () => {
  const the = world();
  let directory: string;
  let file: string;
  let daemon: Program;
  let other: App;
  let ada: Person;
  let as: Client;
  const versions: Record<string, string> = {};

  /** With a URL, as templates of earlier versions needed one: nothing listens there any more. */
  const documentOf = (args: string[] = [], options: object = {}, url?: string): Anything => {
    const document = taskDocument(url ?? "http://none", { provisioner: "process" }) as Anything;
    Object.assign(document.ai_task, { protocol: "acp", ...options });
    const [agent] = document.resources[0].agents;
    agent.command = ["node", file, ...args];
    if (url === undefined) agent.apps = [{ slug: "chat" }];
    return document;
  };

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "acp-")));
    await chmod(directory, 0o711);
    file = join(directory, "acp-agent.mjs");
    const bundled = await rolldown({ input: "test/support/acp-agent.mjs", platform: "node" });
    await bundled.write({ file, format: "esm", codeSplitting: false });
    daemon = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user"], {
      STEWARD_URL: the().url,
      STEWARD_PROVISIONER_KEY: await newKey(the()),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    });
    const owner = the().as(the().owner);
    const create = async (name: string, document: object) => {
      const { createTemplate } = await owner.graphql(
        "mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id } } }",
        { input: { organization: "default", name, document } },
      );
      const { id } = createTemplate.templateVersion;
      versions[name] = id;
      const isImported = async () =>
        (await owner.graphql("query($id: UUID!) { templateVersion(id: $id) { job { status } } }", { id }))
          .templateVersion.job.status === "SUCCEEDED";
      await eventually(isImported, "the import of the template", timeout);
    };
    const url = "http://${host.address}:${port.chat}";
    await create("acp", documentOf());
    await create("forgetful", documentOf(["--no-load"], {}, url));
    await create("options", documentOf(["--options"], { mode: "plan", model: "opus", effort: "low" }));
    await create("silent", documentOf(["--options"]));
    await create("unoffered", documentOf(["--options"], { model: "gpt-9" }));
    await create("nameless", documentOf(["--no-id"]));
    const plain = documentOf([], {}, url);
    delete plain.ai_task.protocol;
    plain.resources[0].agents[0].command = node(
      `require("node:http").createServer((request, response) => {
        if (request.method !== "POST") return response.end('{"status": "stable", "messages": []}');
        response.end('{"ok": true}', () => {
          process.stderr.write("Out of tokens for " + process.env.MODEL_TOKEN + "\\n", () => process.exit(3));
        });
      }).listen(Number(process.argv.at(-1)), "127.0.0.1");`,
      "${port.chat}",
    );
    await create("plain", plain);
    other = await startServer(the().database.url);
  });
  after(async () => {
    daemon.child.kill("SIGTERM");
    await daemon.ended;
    await other.close();
    await rm(directory, { recursive: true });
  });
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
  });

  const read = async (id: string, who = as) => (await who.graphql(query, { id })).task;
  const partsOf = async (id: string) =>
    (await read(id)).conversation?.messages.nodes.flatMap(({ parts }) => parts) ?? [];
  const textsOf = async (id: string): Promise<string[]> =>
    (await partsOf(id)).map(({ text }) => text).filter((text) => text !== undefined);

  /** The reasons in the notifications that a task is in error. */
  const errorsOf = async ({ id }: { id: string }): Promise<string[]> => {
    const { body } = await as.get(`/api/v2/notifications/inbox?targets=${id}`);
    return body.notifications
      .filter(({ title }: Anything) => title.endsWith("is in error"))
      .map(({ content }: Anything) => content.split("\n\n")[1].replace(/\\(.)/g, "$1"));
  };

  /** Creates a task, and waits until its program has responded to the prompt. */
  async function start(name: string, input = "Hello", version = "acp", first = "active") {
    const made = await as.post(`${tasks}/me`, { template_version_id: versions[version], name, input });
    expect(made, JSON.stringify(made.body)).to.deep.include({ status: 201 });
    const { id } = made.body;
    const path = `${tasks}/me/${id}`;
    const task = {
      id,
      path,
      becomes: (status: string) =>
        eventually(async () => (await as.get(path)).body.status === status, `the status ${status}`, timeout),
      is: (state: string) =>
        eventually(async () => (await read(id)).conversation?.state === state, `the state ${state}`, timeout),
      send: async (text: string) => expect((await as.post(`${path}/send`, { input: text })).status).to.equal(204),
      says: (text: string) =>
        eventually(async () => (await textsOf(id)).some((each) => each.includes(text)), `the text ${text}`, timeout),
      request: async () => {
        await task.is("REQUIRES_ACTION");
        return (await partsOf(id)).findLast(({ __typename }) => __typename === "PermissionPart")!;
      },
      decide: (requestId: string, optionId: string, who = as) =>
        who.graphql(
          "mutation($input: DecideTaskPermissionInput!) { decideTaskPermission(input: $input) { __typename } }",
          {
            input: { task: id, requestId, optionId },
          },
        ),
      interrupt: (who = as) => who.graphql(`mutation { interruptTask(input: { task: "${id}" }) { __typename } }`),
      end: () => as.delete(path),
    };
    await task.becomes(first);
    return task;
  }

  it("have states from the protocol, and a conversation on both surfaces", async () => {
    const task = await start("states");
    await task.says("You said: Hello (0 before, 1 now)");
    await task.is("IDLE");
    const { body } = await as.get(task.path);
    expect(body.current_state).to.include({ state: "idle", message: "Waiting for input." });
    await task.send("More");
    await task.says("You said: More (1 before, 1 now)");
    const { body: live } = await as.get(`${task.path}/logs`);
    expect(live.snapshot).to.equal(false);
    expect(live.logs.map(({ type, content }: Anything) => `${type} ${content}`)).to.deep.equal([
      "input Hello",
      "output You said: Hello (0 before, 1 now)",
      "input More",
      "output You said: More (1 before, 1 now)",
    ]);
    expect((await read(task.id)).conversation.protocol).to.equal("ACP");
    await task.end();
  });

  for (const [version, how] of [
    ["acp", "by loading their session"],
    ["forgetful", "from the history, if they cannot load sessions"],
  ] as const)
    it(`keep their conversation over a pause, ${how}`, async () => {
      const task = await start(`kept-${version}`, "Hello", version);
      await task.says("0 before");
      await task.is("IDLE");
      await task.send("ask");
      await task.decide((await task.request()).requestId, "yes");
      await task.says("You chose yes.");
      await task.is("IDLE");
      await task.send("wait");
      await task.is("WORKING");
      await task.interrupt();
      await task.is("IDLE");
      const { conversation } = await read(task.id);
      const { logs } = (await as.get(`${task.path}/logs`)).body;
      expect(logs.map(({ content }: Anything) => content)).to.deep.equal([
        "Hello",
        "You said: Hello (0 before, 1 now)",
        "ask",
        "[Delete everything]\n\n[Permission: Delete everything]\n\nYou chose yes.",
        "wait",
        "[The turn was interrupted.]",
      ]);
      const isKept = async () => {
        expect((await as.get(`${task.path}/logs`)).body.logs).to.deep.equal(logs);
        expect((await read(task.id)).conversation.messages).to.deep.equal(conversation.messages);
      };
      for (const _ of ["once", "twice"]) {
        await as.post(`${task.path}/pause`);
        await task.becomes("paused");
        await isKept();
        await as.post(`${task.path}/resume`);
        await task.becomes("active");
        await isKept();
      }
      await task.send("Again");
      // A loaded session has the earlier inputs; a new one gets the history beside the input.
      await task.says(version === "acp" ? "You said: Again (3 before, 1 now)" : "You said: Again (0 before, 2 now)");
      await task.end();
    });

  it("open no port, and take inputs in their order, each once and with its sender", async () => {
    const task = await start("portless", "wait");
    await task.is("WORKING");
    for (const text of ["One", "Two"]) await task.send(text);
    const { conversation } = await read(task.id);
    expect(conversation.state).to.equal("WORKING");
    // Every process of the task, by its environment, and every socket that listens.
    const inodes = new Set<string>();
    for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
      const env = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      if (!env.includes(`STEWARD_TASK_ID=${task.id}`)) continue;
      for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => []))
        inodes.add(await readlink(`/proc/${pid}/fd/${fd}`).catch(() => ""));
    }
    expect(inodes.size).to.be.greaterThan(0);
    for (const table of ["tcp", "tcp6"]) {
      const rows = (await readFile(`/proc/net/${table}`, "utf8").catch(() => "")).split("\n").slice(1);
      const listening = rows.map((row) => row.trim().split(/\s+/)).filter(([, , , state]) => state === "0A");
      for (const columns of listening) expect(inodes.has(`socket:[${columns[9]}]`)).to.equal(false);
    }
    await task.interrupt();
    await task.says("You said: Two");
    await task.is("IDLE");
    const senders = `query($id: String!) { task(task: $id) { inputs { content state sender { id } }
      conversation { messages(first: 100) { nodes { role sender { id } parts { ... on TextPart { text } } } } } } }`;
    const { inputs, conversation: told } = (await as.graphql(senders, { id: task.id })).task;
    expect(inputs).to.deep.equal(
      ["One", "Two"].map((content) => ({ content, state: "DELIVERED", sender: { id: ada.id } })),
    );
    const users = told.messages.nodes.filter(({ role }) => role === "USER");
    expect(users.map(({ sender, parts }) => [parts[0]!.text, sender?.id])).to.deep.equal([
      ["wait", undefined],
      ["One", ada.id],
      ["Two", ada.id],
    ]);
    await task.end();
  });

  it("get an input with the resume of a paused task, and other inputs are told the way out", async () => {
    const task = await start("resumed");
    await task.is("IDLE");
    await as.post(`${task.path}/pause`);
    await task.becomes("paused");
    const refused = await as.post(`${task.path}/send`, { input: "More" });
    expect(refused.status).to.equal(409);
    expect(refused.body.message).to.match(/^The task is paused\. Resume the task first: POST .*\/resume$/);
    await as.graphql("mutation($input: SendTaskInputInput!) { sendTaskInput(input: $input) { taskInput { state } } }", {
      input: { task: task.id, input: "And more", resume: true },
    });
    await task.becomes("active");
    await task.says("You said: And more");
    await task.end();
  });

  const mode = "query($id: String!) { task(task: $id) { conversation { sessionMode asksNobody } } }";

  it("begin with the mode, model, and effort of the template", async () => {
    const task = await start("options", "options", "options");
    await task.says("plan opus low");
    expect((await as.graphql(mode, { id: task.id })).task.conversation).to.deep.equal({
      sessionMode: "plan",
      asksNobody: false,
    });
    await task.end();
  });

  it("say that their mode asks no user", async () => {
    const task = await start("silent", "options", "silent");
    await task.says("auto default high");
    expect((await as.graphql(mode, { id: task.id })).task.conversation).to.deep.equal({
      sessionMode: "auto",
      asksNobody: true,
    });
    const cli = await UserCli.open({ STEWARD_URL: the().url, STEWARD_TOKEN: ada.token });
    try {
      const shown = await cli.output("tasks", "show", task.id);
      expect(shown).to.include("Mode\tauto (may ask no user for permissions)\n");
    } finally {
      await cli.close();
    }
    await task.end();
  });

  for (const [version, reason] of [
    ["unoffered", "The program does not offer the model gpt-9, but: default, opus, haiku."],
    ["nameless", "The program began a session without an ID: session/new has no sessionId."],
  ] as const)
    it(`fail immediately with the reason: ${version}`, async () => {
      const task = await start(version, "Hello", version, "error");
      // The build fails with it as well, if the program ends while the build waits for an early failure.
      const { current_state: state } = (await as.get(task.path)).body;
      expect(state.state).to.equal("failed");
      expect(state.message).to.include(reason);
      await task.end();
    });

  describe("ask for permissions, which", () => {
    it("only those decide who may connect, on any replica, and the program goes on", async () => {
      const task = await start("asks", "ask");
      const request = await task.request();
      expect(request).to.deep.include({ title: "Delete everything", optionId: null, isCanceled: false });
      expect((await as.get(task.path)).body.current_state).to.include({ state: "idle", message: "Delete everything" });
      expect(await codeOf(task.decide(request.requestId, "yes", the().as(the().owner)))).to.equal("FORBIDDEN");
      expect(await codeOf(task.decide(request.requestId, "yes", the().as(await the().user("eve"))))).to.equal(
        "NOT_FOUND",
      );
      await task.decide(request.requestId, "yes", new Client(other.url, ada.token));
      await task.says("You chose yes.");
      await task.is("IDLE");
      const parts = await partsOf(task.id);
      expect(parts.map(({ __typename }) => __typename)).to.deep.equal([
        "TextPart",
        "ToolCallPart",
        "ToolResultPart",
        "PermissionPart",
        "TextPart",
      ]);
      expect(parts[1]).to.include({ status: "COMPLETED", input: '{"path":"/"}' });
      expect(parts[2]).to.include({ result: "Deleted.", isError: false });
      expect(parts[3]).to.include({ optionId: "yes" });
      await task.send("ask");
      const next = await task.request();
      expect(next.requestId).to.not.equal(request.requestId);
      await task.decide(next.requestId, "no");
      await task.says("You chose no.");
      await task.end();
    });

    it("arrive although the server that took the decision was killed", async () => {
      const task = await start("killed", "ask");
      const request = await task.request();
      const server = await spawnServer({ STEWARD_DATABASE_URL: the().database.url });
      await task.decide(request.requestId, "no", new Client(server.url, ada.token));
      server.child.kill("SIGKILL");
      await server.ended;
      await task.says("You chose no.");
      await task.end();
    });

    it("are decided on the command line, which shows them and can interrupt, too", async () => {
      const cli = await UserCli.open({ STEWARD_URL: the().url, STEWARD_TOKEN: ada.token });
      const asEve = { STEWARD_TOKEN: (await the().user("eve")).token };
      try {
        const task = await start("decided", "ask");
        const { requestId } = await task.request();
        const shown = await cli.output("tasks", "show", "decided");
        expect(shown).to.include(
          "Asks for\tDelete everything\nOption yes\tAllow (allow once)\nOption no\tReject (reject once)\n",
        );
        expect((await cli.json("tasks", "show", "decided")).requests[0]).to.include({ requestId });
        const sent = await cli.run("tasks", "send", "decided", "Later");
        expect(sent.stdout, sent.stderr).to.equal("The text waits for the program.\n");
        expect(sent.stderr).to.equal("The program waits for a decision: Delete everything. See tasks decide.\n");
        expect(await cli.run("tasks", "decide", "decided")).to.deep.equal({
          status: 0,
          stdout: "yes\tAllow\tallow once\nno\tReject\treject once\n",
          stderr: "The program asks for: Delete everything\n",
        });
        expect(await cli.run("tasks", "decide", "decided", "maybe")).to.deep.equal({
          status: 1,
          stdout: "",
          stderr: 'There is no option "maybe". The options: yes (Allow), no (Reject).\n',
        });
        for (const words of [
          ["decide", task.id, "yes"],
          ["interrupt", task.id],
        ]) {
          const foreign = await cli.runWith({ env: asEve }, "tasks", ...words);
          expect(foreign).to.include({ status: 1, stdout: "" });
          expect(foreign.stderr).to.match(/^(Resource not found|There is no task "[\da-f-]+", or)/);
        }
        expect(await cli.output("tasks", "decide", "decided", "reject")).to.equal("Decided: Reject.\n");
        await task.says("You chose no.");
        await task.says("You said: Later");
        await task.is("IDLE");
        expect(await cli.run("tasks", "decide", "decided", "yes")).to.deep.equal({
          status: 1,
          stdout: "",
          stderr: `The program of task ${ada.username}/decided asks for nothing.\n`,
        });
        expect((await cli.run("tasks", "interrupt", "decided")).stderr).to.equal(
          "The program of the task does not work.\n",
        );
        await task.send("ask");
        await task.is("REQUIRES_ACTION");
        expect(await cli.output("tasks", "interrupt", "decided")).to.equal(
          `The program of task ${ada.username}/decided was told to stop.\n`,
        );
        await task.says("You did not choose.");
        await task.end();
      } finally {
        await cli.close();
      }
    });

    it("are closed by an interrupt", async () => {
      const task = await start("closed", "ask");
      await task.request();
      await task.interrupt();
      await task.says("You did not choose.");
      await task.is("IDLE");
      expect((await partsOf(task.id)).find(({ requestId }) => requestId)).to.include({
        optionId: null,
        isCanceled: true,
      });
      await task.end();
    });
  });

  it("are interrupted", async () => {
    const task = await start("interrupted", "wait");
    await task.is("WORKING");
    expect((await as.get(task.path)).body.current_state.state).to.equal("working");
    expect(await codeOf(task.interrupt(the().as(the().owner)))).to.equal("FORBIDDEN");
    await task.interrupt();
    await task.is("IDLE");
    expect((await partsOf(task.id)).at(-1)).to.deep.equal({
      __typename: "InterruptPart",
      reason: "The turn was interrupted.",
    });
    await task.end();
  });

  it("are in error with the reason when they die", async () => {
    const task = await start("dies");
    await task.is("IDLE");
    await task.send("die");
    await task.becomes("error");
    const { body } = await as.get(task.path);
    expect(body.current_state).to.include({ state: "failed", message: "The program ended with status 3." });
    const { conversation } = await read(task.id);
    expect(conversation).to.include({ state: "ERROR", stateMessage: "The program ended with status 3." });
    await task.end();
  });

  it("are in error with the last line of their standard error, and their owners are told once", async () => {
    const task = await start("complains");
    await task.is("IDLE");
    await task.send("complain");
    await task.becomes("error");
    const message = "The program ended with status 3: Out of tokens";
    const { body } = await as.get(task.path);
    expect(body.current_state).to.include({ state: "failed", message });
    expect((await read(task.id)).conversation).to.include({ state: "ERROR", stateMessage: message });
    expect(await errorsOf(task)).to.deep.equal([message]);
    await task.end();
  });

  it("never show secrets of the workspace, whole or in pieces", async () => {
    const secret = { name: "key", value: "hunter2-hunter2", env_name: "API_KEY" };
    expect((await as.post("/api/v2/users/me/secrets", secret)).status).to.equal(201);
    const task = await start("secrets", "secret");
    await task.says("The key is ***.");
    await task.send("env");
    await task.says("STEWARD_TASK_ID");
    const { logs } = (await as.get(`${task.path}/logs`)).body;
    const shown = JSON.stringify([await read(task.id), logs]);
    expect(shown).to.include("***");
    expect(shown).to.not.include(secret.value);
    // The program does not even have the token of the agent.
    expect(shown).to.not.include("STEWARD_AGENT_TOKEN");
    await task.end();
  });

  it("may send garbage and floods: what is shown is bounded, and cuts are marked", async () => {
    const task = await start("hostile", "garbage");
    await task.says("Still here.");
    await task.send("flood");
    // A state comes after the messages before it, so that of the prompt is still there while the flood is stored.
    const messages = async () => (await read(task.id)).conversation.messages.nodes;
    await eventually(async () => (await messages()).some(({ isCut }) => isCut), "a mark of what is missing", timeout);
    await task.is("IDLE");
    const nodes = await messages();
    expect(nodes.length).to.be.within(50, 109);
    for (const { parts } of nodes) expect(JSON.stringify(parts).length).to.be.below(64 * 1024);
    await task.send("Hello again");
    await task.says("You said: Hello again");
    await task.end();
  });

  describe("with programs that speak AgentAPI instead", () => {
    it("are in error with the status and the last line of the output when they die, and their owners are told", async () => {
      const secret = { name: "token", value: "hunter2-hunter2", env_name: "MODEL_TOKEN" };
      expect((await as.post("/api/v2/users/me/secrets", secret)).status).to.equal(201);
      const task = await start("ends", "", "plain");
      await task.send("End");
      await task.becomes("error");
      const message = "The command ended with status 3: Out of tokens for ***";
      const { body } = await as.get(task.path);
      expect(body.current_state).to.include({ state: "failed", message });
      expect((await as.post(`${task.path}/send`, { input: "More" })).body.detail).to.equal(message);
      expect(await errorsOf(task)).to.deep.equal([message]);
      const agent = `{ workspace(id: "${body.workspace_id.uuid}") { latestBuild { resources { agents { status } } } } }`;
      const isGone = async () =>
        (await as.graphql(agent)).workspace.latestBuild.resources[0].agents[0].status === "DISCONNECTED";
      await eventually(isGone, "the end of the agent", timeout);
      const longAgo = { last_connected_at: new Date(Date.now() - 60_000) };
      await setColumns(the(), "workspace_agents", { id: body.workspace_agent_id.uuid }, longAgo);
      expect((await as.get(task.path)).body.current_state).to.include({ state: "failed", message });
      await noticeLost(the().app);
      expect(await errorsOf(task)).to.deep.equal([message]);
      await task.end();
    });
  });

  describe("that misbehave are ended, with a reason:", () => {
    let program: AgentProgram;
    let stage: TaskStage;
    before(async () => {
      program = await AgentProgram.open();
      stage = await TaskStage.open(the(), program, { ai_task: { agent: "main", app: "chat", protocol: "acp" } });
    });
    after(async () => {
      stage.close();
      await program.close();
    });

    /** Runs the process that speaks ACP as the command of an agent. */
    async function run(prompt: string, limits: string[], args: string[] = []) {
      const { task, token } = await stage.active(ada);
      const command = [process.execPath, file, ...args];
      const child = spawn(process.execPath, ["dist/agent.mjs", "acp", "--app", "chat", ...limits, "--", ...command], {
        env: {
          PATH: process.env.PATH,
          HOME: directory,
          STEWARD_URL: the().url,
          STEWARD_AGENT_TOKEN: token,
          STEWARD_TASK_ID: task.id,
          STEWARD_TASK_PROMPT: prompt,
        },
        stdio: "ignore",
      });
      const ended = once(child, "exit").then(([status]) => status as number);
      return { id: task.id as string, ended };
    }
    const ends = async ({ id, ended }: Awaited<ReturnType<typeof run>>, message: RegExp) => {
      expect(await ended).to.equal(1);
      const { conversation } = await read(id);
      expect(conversation.state).to.equal("ERROR");
      expect(conversation.stateMessage).to.match(message);
      const { body } = await as.get(`${tasks}/me/${id}`);
      expect(body.current_state.state).to.equal("failed");
      expect(body.current_state.message).to.match(message);
    };

    it("those that never respond", async () => {
      await ends(await run("", ["--begin", "1000"], ["--silent"]), /did not begin a session in time/);
    });
    it("those that ignore an interrupt", async () => {
      const running = await run("stubborn", ["--interrupt", "500"]);
      await eventually(async () => (await read(running.id)).conversation?.state === "WORKING", "the turn", timeout);
      await as.graphql(`mutation { interruptTask(input: { task: "${running.id}" }) { __typename } }`);
      await ends(running, /did not end its turn/);
    });
    it("those whose output does not end", async () => {
      await ends(await run("endless", []), /wrote more than 64 MiB in a turn/);
    });
    it("those that write a line without an end", async () => {
      await ends(await run("line", []), /line that is too long/);
    });
    it("those that cannot be started", async () => {
      const { task, token } = await stage.active(ada);
      const env = { STEWARD_URL: the().url, STEWARD_AGENT_TOKEN: token, STEWARD_TASK_ID: task.id };
      const child = spawn(process.execPath, ["dist/agent.mjs", "acp", "--app", "chat", "--", "/none"], {
        env,
        stdio: "ignore",
      });
      const ended = once(child, "exit").then(([status]) => status as number);
      await ends({ id: task.id, ended }, /could not be started/);
    });
  });
});
