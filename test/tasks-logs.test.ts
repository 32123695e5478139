// The conversations of tasks: live, as stored by agents, and followed.
// Reaches for tables: a snapshot of a later start than any that happened.
import { expect } from "chai";
import { createClient } from "graphql-ws";
import { WebSocket } from "ws";
import { newId } from "./support/ids.js";
import type { AgentProgram } from "./support/agent-api.js";
import { watch } from "./support/agents.js";
import { type TaskStage, withTasks } from "./support/tasks.js";
import { eventually } from "./support/watchers.js";
import { setColumns } from "./support/tables.js";
import { type Answer, type Anything, type Client, type Person, world } from "./support/world.js";

const tasks = "/api/v2/tasks";
const time = "2026-01-02T03:04:05.000Z";

const fieldsOf = ({ body }: Answer) => body.validations?.map(({ field }: { field: string }) => field);

describe("logs of tasks", () => {
  const the = world();
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;
  let as: Client;

  withTasks(the, (opened) => ({ stage, program } = opened));
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    program.reset();
  });

  const logs = async (id: string, who = as): Promise<Answer> => who.get(`${tasks}/me/${id}/logs`);
  const act = (id: string, action: string) => as.post(`${tasks}/me/${id}/${action}`);
  const said = (...contents: string[]) => ({
    messages: contents.map((content, id) => ({ id, role: id % 2 ? "agent" : "user", content, time })),
  });
  const upload = (token: string | undefined, id: string, body: unknown = said("Fix it"), query = "format=agentapi") =>
    (token === undefined ? the().nobody : stage.agent(token)).post(
      `/api/v2/workspaceagents/me/tasks/${id}/log-snapshot${query && `?${query}`}`,
      body,
    );
  const contentsOf = async (id: string) =>
    (await logs(id)).body.logs.map(({ content }: { content: string }) => content);

  describe("of active tasks", () => {
    it("are live, by ascending id, without other roles", async () => {
      const { task } = await stage.active(ada);
      const other = { id: 3, role: "system", content: "Secret", time };
      const messages = [{ id: 2, role: "agent", content: "Done", time }, other, said("Fix it").messages[0]];
      program.handlers["GET /messages"] = (response) => {
        response.end(JSON.stringify({ messages }));
        return true;
      };
      const { status, body } = await logs(task.id);
      expect(status).to.equal(200);
      expect(body).to.deep.equal({
        snapshot: false,
        logs: [
          { id: 0, type: "input", content: "Fix it", time },
          { id: 2, type: "output", content: "Done", time },
        ],
      });
    });

    it("are the stored ones if the program fails, and 502 without any", async () => {
      const { task, token } = await stage.active(ada);
      const failures = ["not JSON", '{"messages": 1}', `{"messages": [], "x": "${"x".repeat(9 * 1024 ** 2)}"}`];
      for (const text of failures) {
        program.handlers["GET /messages"] = (response) => {
          response.end(text);
          return true;
        };
        const failed = await logs(task.id);
        expect(failed, text.slice(0, 30)).to.include({ status: 502 });
        expect(failed.body.message).to.equal("Failed to reach the task app.");
        expect(JSON.stringify(failed.body)).to.not.include("xxx");
      }
      expect((await upload(token, task.id)).status).to.equal(204);
      const { body } = await logs(task.id);
      expect(body).to.deep.include({ snapshot: true });
      expect(body.snapshot_at).to.be.a("string");
      expect(body.logs).to.have.length(1);
    });

    it("are the stored ones for readers who may not connect to its apps", async () => {
      const { task, token } = await stage.active(ada);
      program.say("user", "Live");
      const owner = the().as(the().owner);
      expect((await logs(task.id, owner)).body).to.deep.equal({ logs: [], snapshot: true });
      await upload(token, task.id, said("Stored"));
      const { body } = await logs(task.id, owner);
      expect(body.snapshot).to.equal(true);
      expect(body.logs[0].content).to.equal("Stored");
      expect((await logs(task.id, the().as(await the().user("eve")))).status).to.equal(404);
    });
  });

  it("name who sent each input, while a program runs that does not say and after it, and none for a prompt", async () => {
    const w = the();
    const bob = await w.user("bob");
    const { task, token } = await stage.active(ada);
    await as.graphql(
      `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`,
      {
        input: { workspace: task.workspace_id.uuid, userPerms: [{ id: bob.id, role: "admin" }] },
      },
    );
    program.say("user", "The prompt");
    program.say("agent", "Go on");
    const send = `mutation($input: SendTaskInputInput!) { sendTaskInput(input: $input) { __typename } }`;
    for (const [person, input] of [
      [ada, "Go on"],
      [bob, "Go on"],
      [bob, "Stop"],
    ] as const)
      await w.as(person).graphql(send, { input: { task: task.id, input } });
    const expected = [
      ["The prompt", undefined],
      ["Go on", undefined],
      ["Go on", ada.username],
      ["Go on", bob.username],
      ["Stop", bob.username],
    ];
    interface Entry {
      content: string;
      sender: { username: string } | null;
    }
    const senders = (entries: Entry[]) => entries.map(({ content, sender }) => [content, sender?.username]);
    const read = async () => {
      const text = `query($id: String!) { task(task: $id) {
        logs { snapshot entries { content sender { username } } }
        conversation { messages(first: 9) { nodes { sender { username } parts { ... on TextPart { content: text } } } } } } }`;
      return (await as.graphql(text, { id: task.id })).task;
    };
    const live = await read();
    expect([live.logs.snapshot, senders(live.logs.entries)]).to.deep.equal([false, expected]);
    const followed = watch(w, as, `subscription { taskMessages(id: "${task.id}") { content sender { username } } }`);
    await eventually(() => followed.events.length === expected.length, "all entries");
    expect(senders(followed.events)).to.deep.equal(expected);
    followed.close();

    expect((await upload(token, task.id, { messages: program.messages })).status).to.equal(204);
    program.handlers["GET /messages"] = (response) => {
      response.end("not JSON");
      return true;
    };
    const stored = await read();
    expect([stored.logs.snapshot, senders(stored.logs.entries)]).to.deep.equal([true, expected]);
    const { nodes } = stored.conversation.messages;
    expect(senders(nodes.map(({ sender, parts }: Anything) => ({ ...parts[0], sender })))).to.deep.equal(expected);
  });

  it("of other tasks are the stored ones, empty before there are any, and 409 in error", async () => {
    const none = { logs: [], snapshot: true };
    const task = await stage.create(ada);
    expect((await logs(task.id)).body, "pending").to.deep.equal(none);
    const token = (await stage.carryOut())!;
    expect((await logs(task.id)).body, "initializing").to.deep.equal(none);
    await stage.ready(token);
    await stage.health(token, "UNHEALTHY");
    expect((await logs(task.id)).status, "error").to.equal(409);
    await act(task.id, "pause");
    await stage.carryOut();
    expect((await logs(task.id)).body, "paused").to.deep.equal(none);
    await act(task.id, "resume");
    const next = (await stage.carryOut())!;
    expect((await upload(next, task.id, said("Fix it", "Done"))).status).to.equal(204);
    const { body: initializing } = await logs(task.id);
    expect(initializing.snapshot).to.equal(true);
    expect(initializing.logs).to.deep.equal([
      { id: 0, type: "input", content: "Fix it", time },
      { id: 1, type: "output", content: "Done", time },
    ]);
    await stage.ready(next);
    await stage.health(next, "UNHEALTHY");
    expect((await logs(task.id)).body, "error").to.deep.equal(initializing);
    await act(task.id, "pause");
    await stage.carryOut();
    expect((await logs(task.id)).body, "paused").to.deep.equal(initializing);
    await act(task.id, "resume");
    expect((await logs(task.id)).body, "pending").to.deep.equal(initializing);
    await stage.carryOut();
  });

  describe("are stored", () => {
    it("by the agent of the workspace of the task only", async () => {
      const { task, token } = await stage.active(ada);
      const bob = await the().user("bob");
      const { token: his } = await stage.active(bob);
      const large = said("x".repeat(80 * 1024));
      expect((await upload(undefined, task.id)).status, "nobody").to.equal(401);
      expect((await upload(ada.token, task.id)).status, "a session").to.equal(401);
      expect((await upload(token, "not-a-uuid", large, "format=x")).status, "a malformed id").to.equal(400);
      expect((await upload(his, task.id, large, "format=x")).status, "another workspace").to.equal(404);
      expect((await upload(token, newId(), large)).status, "an unknown task").to.equal(404);
      expect((await upload(token, task.id, large, "format=x")).status, "another format").to.equal(400);
      expect(fieldsOf(await upload(token, task.id, said("a"), ""))).to.deep.equal(["format"]);
      const bearer = await the().nobody.post(
        `/api/v2/workspaceagents/me/tasks/${task.id}/log-snapshot?format=agentapi`,
        said("By bearer"),
        { Authorization: `Bearer ${token}` },
      );
      expect(bearer.status).to.equal(204);
    });

    it("up to 64 KiB of valid messages", async () => {
      const { task, token } = await stage.active(ada);
      expect((await upload(token, task.id, said("x".repeat(80 * 1024)))).status).to.equal(413);
      expect((await upload(token, task.id, "{")).status).to.equal(400);
      for (const body of [{}, { messages: "none" }, { messages: null }])
        expect(fieldsOf(await upload(token, task.id, body)), JSON.stringify(body)).to.deep.equal(["messages"]);
      const messages = [
        { id: 1.5, role: "system", content: 1, time: "yesterday" },
        { id: 1, role: "user", content: "Right", time, more: { ignored: true } },
        "text",
      ];
      const fields = ["id", "content", "role", "time"];
      expect(fieldsOf(await upload(token, task.id, { messages }))).to.have.members(
        [0, 2].flatMap((index) => fields.map((field) => `messages[${index}].${field}`)),
      );
      expect((await upload(token, task.id, { messages: [] })).status, "an empty list").to.equal(204);
      expect((await upload(token, task.id, { messages: messages.slice(1, 2), other: 1 })).status).to.equal(204);
      expect((await upload(token, task.id, said("a\u0000b"))).status).to.equal(204);
      program.handlers["GET /messages"] = (response) => {
        response.destroy();
        return true;
      };
      expect(await contentsOf(task.id)).to.deep.equal(["a\uFFFDb"]);
      expect((await upload(token, task.id, said("x".repeat(65_000)))).status).to.equal(204);
    });

    it("until the stop of its workspace has ended", async () => {
      const { task, token } = await stage.active(ada);
      await act(task.id, "pause");
      const job = await stage.next();
      await stage.daemon.call("acceptProvisionerJob", job);
      expect((await upload(token, task.id, said("While it stops"))).status).to.equal(204);
      await stage.report(job);
      await stage.daemon.call("completeProvisionerJob", job);
      expect((await upload(token, task.id, said("Too late"))).status).to.equal(401);
      expect(await contentsOf(task.id)).to.deep.equal(["While it stops"]);
    });

    it("unless those of a later start are there", async () => {
      const { task, token } = await stage.active(ada);
      await upload(token, task.id, said("Later"));
      await setColumns(the(), "task_log_snapshots", { task_id: task.id }, { build_number: 3 });
      expect((await upload(token, task.id, said("Earlier"))).status).to.equal(204);
      await act(task.id, "pause");
      await stage.carryOut();
      expect(await contentsOf(task.id)).to.deep.equal(["Later"]);
    });
  });

  describe("are followed", () => {
    const query = "subscription($id: UUID!) { taskMessages(id: $id) { id content type } }";
    const follow = (id: string, token: string) => {
      const client = createClient({
        url: `${the().url.replace("http", "ws")}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { sessionToken: token },
      });
      const entries: Array<{ id: number; content: string; type: string }> = [];
      const codes: unknown[] = [];
      const ended = (async () => {
        for await (const { data, errors } of client.iterate<{ taskMessages: (typeof entries)[number] }>({
          query,
          variables: { id },
        })) {
          if (data) entries.push(data.taskMessages);
          codes.push(...(errors ?? []).map(({ extensions }) => extensions?.code));
        }
      })().catch((errors: Array<{ extensions: { code: string } }>) => {
        codes.push(...errors.map(({ extensions }) => extensions.code));
      });
      return { client, entries, codes, ended };
    };

    it("entry by entry, until the program ends", async () => {
      const { task } = await stage.active(ada);
      program.say("user", "Fix it");
      const { client, entries, ended } = follow(task.id, ada.token);
      await eventually(() => entries.length === 1, "the first entry");
      program.say("agent", "Working");
      await eventually(() => entries.length === 2, "the next entry");
      expect(entries).to.deep.equal([
        { id: 0, content: "Fix it", type: "INPUT" },
        { id: 1, content: "Working", type: "OUTPUT" },
      ]);
      program.hangUp();
      await ended;
      await client.dispose();
    });

    it("only by those who may connect to the apps of an active task", async () => {
      const { task, token } = await stage.active(ada);
      const refused = async (person: Pick<Person, "token">, code: string) => {
        const { client, codes, ended } = follow(task.id, person.token);
        await ended;
        await client.dispose();
        expect(codes).to.deep.equal([code]);
      };
      await refused(the().owner, "FORBIDDEN");
      await refused(await the().user("eve"), "NOT_FOUND");
      await stage.health(token, "UNHEALTHY");
      await refused(ada, "CONFLICT");
    });
  });
});
