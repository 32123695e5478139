// The whole life of tasks whose program is a real process, started by the daemon from the example template.
import { execFileSync } from "node:child_process";
import { chmod, copyFile, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { type Client as Socket, createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { type Program, spawnProgram } from "../support/process.js";
import { newKey } from "../support/provisioners.js";
import { eventually } from "../support/watchers.js";
import { type Client, type Person, world } from "../support/world.js";

const tasks = "/api/v2/tasks";

/** Milliseconds for what processes do. */
const timeout = 30_000;

interface Entry {
  type: string;
  content: string;
}

describe("the life of a task with a real program", () => {
  const the = world();
  let directory: string;
  let daemon: Program;
  let versionId: string;
  let ada: Person;
  let as: Client;

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), "tasks-")));
    await chmod(directory, 0o711);
    const program = join(directory, "chat.mjs");
    await copyFile("examples/agentapi-echo/chat.mjs", program);
    daemon = spawnProgram("dist/provisioner/main.js", ["--allow-root", "--allow-shared-user"], {
      STEWARD_URL: the().url,
      STEWARD_PROVISIONER_KEY: await newKey(the()),
      STEWARD_PROVISIONER_TYPES: "process",
      STEWARD_PROVISIONER_DIR: directory,
    });
    versionId = await createVersion("chat", program);
    ada = await the().user("ada");
    as = the().as(ada);
  });
  after(async () => {
    daemon.child.kill("SIGTERM");
    await daemon.ended;
    await rm(directory, { recursive: true });
  });

  /** Creates a template of a program, and waits for its import. */
  async function createVersion(name: string, program: string): Promise<string> {
    const template = (await readFile("examples/agentapi-echo/template.json", "utf8")).replace(
      '"interval": 5',
      '"interval": 1',
    );
    const { createTemplate } = await the()
      .as(the().owner)
      .graphql(`mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id } } }`, {
        input: {
          organization: "default",
          name,
          document: JSON.parse(template),
          variables: [{ name: "program", value: program }],
        },
      });
    const { id } = createTemplate.templateVersion;
    const isImported = async () =>
      (await the().as(the().owner).graphql("query($id: UUID!) { templateVersion(id: $id) { job { status } } }", { id }))
        .templateVersion.job.status === "SUCCEEDED";
    await eventually(isImported, "the import of the template", timeout);
    return id;
  }

  /** The processes of programs. */
  const processes = () =>
    execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes(join(directory, "chat.mjs")));

  const isDeleted = (name: string) =>
    eventually(
      () => daemon.output().includes(`delete of ${ada.username}/${name}) succeeded`),
      "the deletion of the workspace",
      timeout,
    );

  it("can be followed by REST only, from its creation to its end", async () => {
    const made = await as.post(`${tasks}/me`, { template_version_id: versionId, name: "by-rest", input: "Hello" });
    expect(made, JSON.stringify(made.body)).to.deep.include({ status: 201 });
    expect(made.body.status).to.equal("pending");
    const path = `${tasks}/me/by-rest`;
    const becomes = (status: string) =>
      eventually(async () => (await as.get(path)).body.status === status, `the status ${status}`, timeout);
    const says = (content: string) =>
      eventually(
        async () => (await as.get(`${path}/logs`)).body.logs?.some((each: Entry) => each.content === content),
        `the message ${content}`,
        timeout,
      );
    await becomes("active");
    await says("small echo: Hello");
    expect(processes()).to.have.length(1);
    expect((await as.post(`${path}/send`, { input: "Are you there?" })).status).to.equal(204);
    await says("small echo: Are you there?");
    const { body: live } = await as.get(`${path}/logs`);
    expect(live.snapshot).to.equal(false);
    expect(live.logs.map(({ type, content }: Entry) => [type, content])).to.deep.equal([
      ["input", "Hello"],
      ["output", "small echo: Hello"],
      ["input", "Are you there?"],
      ["output", "small echo: Are you there?"],
    ]);

    expect((await as.post(`${path}/pause`)).status).to.equal(202);
    await becomes("paused");
    expect(processes()).to.deep.equal([]);
    expect((await as.post(`${path}/send`, { input: "Hi" })).status).to.equal(409);
    expect((await as.get(`${path}/logs`)).body.snapshot).to.equal(true);
    expect((await as.patch(`${path}/input`, { input: "Welcome back" })).status).to.equal(204);

    expect((await as.post(`${path}/resume`)).status).to.equal(202);
    await becomes("active");
    await says("small echo: Welcome back");
    expect(processes()).to.have.length(1);
    const { body: resumed } = await as.get(`${path}/logs`);
    expect(resumed.logs.slice(0, 4), "the conversation before the pause").to.deep.equal(live.logs);
    expect(resumed.logs).to.have.length(6);

    expect((await as.delete(path)).status).to.equal(202);
    expect((await as.get(path)).status).to.equal(404);
    await isDeleted("by-rest");
    expect(processes()).to.deep.equal([]);
  });

  it("keeps the newest part of a long conversation while it is paused, with marks where it is cut", async () => {
    await as.post(`${tasks}/me`, { template_version_id: versionId, name: "long", input: "Hello" });
    const path = `${tasks}/me/long`;
    const becomes = (status: string) =>
      eventually(async () => (await as.get(path)).body.status === status, `the status ${status}`, timeout);
    const logs = async (): Promise<Entry[]> => (await as.get(`${path}/logs`)).body.logs ?? [];
    await becomes("active");
    for (const input of ["x".repeat(40_000), "y".repeat(40_000), "z".repeat(40_000)]) {
      expect((await as.post(`${path}/send`, { input })).status).to.equal(204);
      const isEchoed = async () => (await logs()).some(({ content }) => content === `small echo: ${input}`);
      await eventually(isEchoed, "the response", timeout);
    }
    await as.post(`${path}/pause`);
    await becomes("paused");
    const stored = await logs();
    expect(stored[0]!.content).to.match(/^\[\d earlier messages were left out\.\]$/);
    expect(stored.length - 1 + Number.parseInt(stored[0]!.content.slice(1), 10)).to.equal(8);
    expect(stored.at(-1)!.content).to.match(/^small echo: z+ … \[cut\]$/);
    expect((await as.delete(path)).status).to.equal(202);
    await isDeleted("long");
  });

  /** The structured conversation, as `role text`, and the messages themselves. */
  const conversationOf = async (id: string) => {
    const query = `query($id: String!) { task(task: $id) { conversation { state omittedCount messages(first: 1000) {
      nodes { id role writtenAt isCut parts { ... on TextPart { text } } } } } } }`;
    const { conversation } = (await as.graphql(query, { id })).task;
    type Node = { id: string; role: string; writtenAt: string; isCut: boolean; parts: Array<{ text: string }> };
    const nodes = (conversation?.messages.nodes ?? []) as Node[];
    const texts = nodes.map(({ role, parts }) => `${role} ${parts.map(({ text }) => text).join()}`);
    return { conversation, nodes, texts };
  };

  describe("keeps its conversation", () => {
    const run = async (name: string, version: string) => {
      const input = { template_version_id: version, name, input: "Hello" };
      const { id } = (await as.post(`${tasks}/me`, input)).body;
      const path = `${tasks}/me/${name}`;
      const becomes = (status: string) =>
        eventually(async () => (await as.get(path)).body.status === status, `the status ${status}`, timeout);
      const has = (...texts: string[]) =>
        eventually(
          async () => (await conversationOf(id)).texts.join("|") === texts.join("|"),
          `the conversation ${texts.join("|")}`,
          timeout,
        );
      const pause = async () => {
        await as.post(`${path}/pause`);
        await becomes("paused");
      };
      const resume = async () => {
        await as.post(`${path}/resume`);
        await becomes("active");
      };
      await becomes("active");
      await has("USER Hello", "AGENT small echo: Hello");
      return { id, path, has, pause, resume, becomes };
    };
    const logsOf = async (path: string) => (await as.get(`${path}/logs`)).body.logs as Entry[];

    it("over pauses, equal on both surfaces, if the program takes its earlier messages", async () => {
      const { id, path, has, pause, resume } = await run("kept", versionId);
      // The state may be reported after the message.
      const isIdle = async () => (await conversationOf(id)).conversation.state === "IDLE";
      await eventually(isIdle, "the program is idle", timeout);
      const [logs, { nodes }] = [await logsOf(path), await conversationOf(id)];
      for (const _ of [1, 2]) {
        await pause();
        expect(await logsOf(path)).to.deep.equal(logs);
        expect((await conversationOf(id)).nodes).to.deep.equal(nodes);
        await resume();
        expect(await logsOf(path)).to.deep.equal(logs);
        expect((await conversationOf(id)).nodes).to.deep.equal(nodes);
      }
      await as.post(`${path}/send`, { input: "More" });
      await has("USER Hello", "AGENT small echo: Hello", "USER More", "AGENT small echo: More");
      await as.delete(path);
      await isDeleted("kept");
    });

    it("as history, if the program begins with an empty conversation", async () => {
      const file = join(directory, "forgetful-chat.mjs");
      await writeFile(file, (await readFile("examples/agentapi-echo/chat.mjs", "utf8")).replace("saved ?", "false ?"));
      const version = await createVersion("forgetful", file);
      const { path, has, pause, resume, becomes } = await run("forgotten", version);
      await pause();
      await resume();
      const all = ["USER Hello", "AGENT small echo: Hello"];
      await has(...all, ...all);
      await pause();
      // What is stored of the conversation has the earlier messages, too.
      expect((await logsOf(path)).map(({ content }) => content)).to.deep.equal([
        "Hello",
        "small echo: Hello",
        "Hello",
        "small echo: Hello",
      ]);
      await becomes("paused");
      await as.delete(path);
      await isDeleted("forgotten");
    });
  });

  describe("by GraphQL", () => {
    let socket: Socket;
    beforeEach(() => {
      socket = createClient({
        url: `${the().url.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { sessionToken: ada.token },
      });
    });
    afterEach(() => socket.dispose());

    /** Collects what a subscription sends until it ends, in the field `name`. */
    function collect(name: string, query: string, id: string) {
      const values: Array<{ status: string; content: string }> = [];
      const ended = (async () => {
        for await (const { data } of socket.iterate<Record<string, (typeof values)[number]>>({
          query,
          variables: { id },
        }))
          if (data) values.push(data[name]!);
      })();
      ended.catch(() => {});
      return { values, ended };
    }

    it("can be followed live, from its creation to its end", async () => {
      const { createTask } = await as.graphql(
        `mutation($input: CreateTaskInput!) { createTask(input: $input) { task { id status } } }`,
        { input: { templateVersionId: versionId, name: "by-graphql", input: "Hello" } },
      );
      expect(createTask.task.status).to.equal("PENDING");
      const { id } = createTask.task;
      const act = (mutation: string, more = "") =>
        as.graphql(`mutation { ${mutation}(input: { task: "${id}"${more} }) { __typename } }`);
      const changes = collect("taskChanged", "subscription($id: UUID) { taskChanged(id: $id) { status } }", id);
      const becomes = (status: string) =>
        eventually(() => changes.values.at(-1)?.status === status, `the status ${status}`, timeout);
      const relay = () =>
        collect("taskMessages", "subscription($id: UUID!) { taskMessages(id: $id) { type content } }", id);
      const says = ({ values }: ReturnType<typeof relay>, content: string) =>
        eventually(() => values.some((each) => each.content === content), `the message ${content}`, timeout);

      await becomes("ACTIVE");
      const first = relay();
      await says(first, "small echo: Hello");
      await act("sendTaskInput", ', input: "Are you there?"');
      await says(first, "small echo: Are you there?");
      await act("pauseTask");
      await becomes("PAUSED");
      expect(processes()).to.deep.equal([]);
      await act("updateTaskInput", ', input: "Welcome back"');
      await act("resumeTask");
      await becomes("ACTIVE");
      await says(relay(), "small echo: Welcome back");
      await act("deleteTask");
      await changes.ended;
      await isDeleted("by-graphql");
      expect(processes()).to.deep.equal([]);
      const seen = changes.values.map(({ status }) => status).filter((each, at, all) => each !== all[at - 1]);
      expect(seen.filter((each) => ["ACTIVE", "PAUSED"].includes(each))).to.deep.equal(["ACTIVE", "PAUSED", "ACTIVE"]);
    });
  });
});
