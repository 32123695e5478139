// The structured conversation of tasks: what agents report, who reads and follows it, and who decides about permissions.
// Looks inside: a later start of a task, and rows that are gone with it.
import { expect } from "chai";
import { watch } from "../support/agents.js";
import type { AgentProgram } from "../support/agent-api.js";
import { type App, startServer } from "../support/app.js";
import { type TaskStage, withTasks } from "../support/tasks.js";
import { eventually } from "../support/watchers.js";
import { type Anything, Client, GraphqlFailure, type Person, type World, world } from "../support/world.js";

const parts = `parts { __typename ... on TextPart { text } ... on ToolCallPart { toolCallId title toolKind status input }
  ... on ToolResultPart { toolCallId text isError }
  ... on PermissionPart { requestId title options { id name kind } optionId isCanceled }
  ... on InterruptPart { reason: text } }`;

describe("the conversation of a task", () => {
  const the = world();
  let other: App;
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;
  let as: Client;

  withTasks(the, (opened) => ({ stage, program } = opened));
  before(async () => {
    other = await startServer(the().database.url);
  });
  after(() => other.close());
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    program.reset();
  });

  let clock = Date.parse("2026-01-02T03:04:05.000Z");
  const text = (key: string, role: string, content: string, more: object = {}) => ({
    key,
    role,
    parts: [{ kind: "TEXT", text: content }],
    writtenAt: new Date(clock++).toISOString(),
    ...more,
  });
  const options = [
    { id: "yes", name: "Allow", kind: "ALLOW_ONCE" },
    { id: "no", name: "Reject", kind: "REJECT_ONCE" },
  ];
  const question = (key: string, requestId: string, more: object = {}) => ({
    key,
    role: "AGENT",
    parts: [
      {
        kind: "TOOL_CALL",
        toolCallId: "call-1",
        title: "Delete all",
        toolKind: "execute",
        status: "PENDING",
        input: "{}",
      },
      { kind: "PERMISSION", requestId, toolCallId: "call-1", title: "Delete all", options, ...more },
    ],
    writtenAt: new Date(clock++).toISOString(),
  });

  const read = async (id: string, page = "", who = as) =>
    (
      await who.graphql(
        `query($id: String!) { task(task: $id) { currentState { state message } conversation { protocol state stateMessage
           omittedCount revision messages(${page || "first: 1000"}) { totalCount nodes { id role isCut buildNumber writtenAt ${parts} }
           pageInfo { hasNextPage hasPreviousPage endCursor } } } } }`,
        { id },
      )
    ).task;
  const said = async (id: string) =>
    (await read(id)).conversation.messages.nodes.map((each) => each.parts.map((part) => part.text).join());
  const decide = (id: string, requestId: string, optionId: string, who = as) =>
    who.graphql(
      "mutation($input: DecideTaskPermissionInput!) { decideTaskPermission(input: $input) { task { id } } }",
      {
        input: { task: id, requestId, optionId },
      },
    );
  const interrupt = (id: string, who = as) =>
    who.graphql("mutation($input: InterruptTaskInput!) { interruptTask(input: $input) { task { id } } }", {
      input: { task: id },
    });
  /** The code of the error of an operation. */
  const codeOf = (operation: Promise<unknown>): Promise<unknown> =>
    operation.then(
      () => "none",
      (error: unknown) => {
        if (error instanceof GraphqlFailure) return error.code;
        throw error;
      },
    );
  const actionsOf = (token: string, id: string, at: Pick<World, "url"> = the()) =>
    watch(
      at,
      stage.agent(token),
      "subscription($id: UUID!) { taskActionRequested(taskId: $id) { id kind requestId optionId } }",
      { id },
    );
  const pause = async (id: string) => {
    await as.post(`/api/v2/tasks/me/${id}/pause`);
    await stage.carryOut();
  };
  const resume = async (id: string) => {
    await as.post(`/api/v2/tasks/me/${id}/resume`);
    const token = (await stage.carryOut())!;
    await stage.ready(token);
    return token;
  };

  it("has messages with parts, in pages by key, and the state of the program", async () => {
    const { task, token } = await stage.active(ada);
    expect((await read(task.id)).conversation).to.equal(null);
    expect(await stage.converse(token, task.id)).to.deep.equal({ sessionId: null, omittedCount: 0, messages: [] });
    const result = { kind: "TOOL_RESULT", toolCallId: "call-1", text: "Gone", isError: true };
    const asked = question("2", "q1");
    await stage.tell(token, task.id, {
      state: "WORKING",
      messages: [
        text("1", "USER", "Hello"),
        { ...asked, parts: [...asked.parts, result, { kind: "INTERRUPT", text: "Enough" }], isCut: true },
        text("3", "AGENT", "Done"),
      ],
    });
    const { conversation, currentState } = await read(task.id);
    expect(conversation).to.include({ protocol: "ACP", state: "WORKING", stateMessage: "", omittedCount: 0 });
    expect(currentState).to.deep.equal({ state: "WORKING", message: "Working." });
    const { nodes, totalCount } = conversation.messages;
    expect(totalCount).to.equal(3);
    expect(nodes.map(({ role, isCut, buildNumber }) => [role, isCut, buildNumber])).to.deep.equal([
      ["USER", false, 1],
      ["AGENT", true, 1],
      ["AGENT", false, 1],
    ]);
    expect(nodes[1]!.parts).to.deep.equal([
      {
        __typename: "ToolCallPart",
        toolCallId: "call-1",
        title: "Delete all",
        toolKind: "execute",
        status: "PENDING",
        input: "{}",
      },
      {
        __typename: "PermissionPart",
        requestId: "q1",
        title: "Delete all",
        options,
        optionId: null,
        isCanceled: false,
      },
      { __typename: "ToolResultPart", toolCallId: "call-1", text: "Gone", isError: true },
      { __typename: "InterruptPart", reason: "Enough" },
    ]);
    expect(nodes[2]!.parts).to.deep.equal([{ __typename: "TextPart", text: "Done" }]);
    const first = (await read(task.id, "first: 2")).conversation.messages;
    expect(first.pageInfo.hasNextPage).to.equal(true);
    const rest = (await read(task.id, `first: 2, after: "${first.pageInfo.endCursor}"`)).conversation.messages;
    expect([...first.nodes, ...rest.nodes]).to.deep.equal(nodes);
    const last = (await read(task.id, "last: 1")).conversation.messages;
    expect(last.nodes).to.deep.equal([nodes[2]]);
  });

  it("replaces messages by their keys, and continues after a pause", async () => {
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    const hello = text("1", "USER", "Hello");
    const hi = text("2", "AGENT", "H");
    await stage.tell(token, task.id, { sessionId: "s-1", messages: [hello, hi] });
    await stage.tell(token, task.id, { messages: [hello, { ...hi, parts: [{ kind: "TEXT", text: "Hi" }] }] });
    const before = (await read(task.id)).conversation.messages.nodes;
    await pause(task.id);
    const paused = (await read(task.id)).conversation;
    expect(paused.messages.nodes).to.deep.equal(before);
    expect(paused.state).to.equal(null);
    const next = await resume(task.id);
    expect(await stage.converse(next, task.id)).to.deep.equal({
      sessionId: "s-1",
      omittedCount: 0,
      messages: [
        { role: "USER", isCut: false, parts: [{ text: "Hello" }] },
        { role: "AGENT", isCut: false, parts: [{ text: "Hi" }] },
      ],
    });
    await stage.tell(next, task.id, { messages: [hello, text("2-1", "USER", "Again")] });
    expect(await said(task.id)).to.deep.equal(["Hello", "Hi", "Again"]);
  });

  it("ignores the agent of an earlier start", async () => {
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    await the().app.services.database.pool.query("update task_conversations set build_number = 3 where task_id = $1", [
      task.id,
    ]);
    await stage.tell(token, task.id, { state: "ERROR", messages: [text("1", "USER", "Late")] });
    expect(await said(task.id)).to.deep.equal([]);
  });

  it("keeps the newest messages within its limits, and says how many it left out", async () => {
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    const all = Array.from({ length: 1010 }, (_, n) => text(`k${n}`, n % 2 ? "AGENT" : "USER", `m${n}`));
    for (let at = 0; at < all.length; at += 100)
      await stage.tell(token, task.id, { messages: all.slice(at, at + 100) });
    const { conversation } = await read(task.id);
    expect(conversation.omittedCount).to.equal(10);
    expect(conversation.messages.nodes).to.have.length(1000);
    expect(conversation.messages.nodes[0]!.parts[0]!.text).to.equal("m10");
    // A program that lists its whole conversation again does not bring back what was left out.
    await stage.tell(token, task.id, { messages: all.slice(0, 20) });
    expect((await said(task.id)).slice(0, 2)).to.deep.equal(["m10", "m11"]);
    const large = (n: number) => text(`l${n}`, "AGENT", "x".repeat(60_000));
    for (let n = 0; n < 80; n += 10)
      await stage.tell(token, task.id, { messages: Array.from({ length: 10 }, (_, i) => large(n + i)) });
    const after = (await read(task.id)).conversation;
    expect(after.messages.nodes.length * 60_000).to.be.below(4 * 1024 * 1024);
    expect(after.omittedCount + after.messages.nodes.length).to.equal(1010 + 80);
  });

  it("rejects what is too large or not the agent's", async () => {
    const { task, token } = await stage.active(ada);
    const bob = await the().user("bob");
    const { task: his } = await stage.active(bob);
    const tell = (input: object) => codeOf(stage.tell(token, task.id, input));
    expect(await codeOf(stage.converse(token, his.id))).to.equal("NOT_FOUND");
    expect(await codeOf(stage.tell(token, his.id, {}))).to.equal("NOT_FOUND");
    expect(await codeOf(stage.converse(ada.token, task.id))).to.equal("UNAUTHENTICATED");
    const many = (length: number) => Array.from({ length }, (_, n) => text(`${n}`, "USER", ""));
    expect(await tell({ messages: many(101) })).to.equal("BAD_USER_INPUT");
    expect(await tell({ messages: [text("", "USER", "")] })).to.equal("BAD_USER_INPUT");
    expect(await tell({ messages: [text("1", "USER", "x".repeat(70_000))] })).to.equal("BAD_USER_INPUT");
    expect(
      await tell({
        messages: [{ ...text("1", "USER", ""), parts: Array.from({ length: 101 }, () => ({ kind: "TEXT" })) }],
      }),
    ).to.equal("BAD_USER_INPUT");
    expect(await tell({ messages: [question("1", "x".repeat(129))] })).to.equal("BAD_USER_INPUT");
    expect(await tell({ sessionId: "x".repeat(513) })).to.equal("BAD_USER_INPUT");
    expect(await tell({ messages: many(100), state: "IDLE", stateMessage: "ü".repeat(600) })).to.equal("none");
    expect(Buffer.byteLength((await read(task.id)).conversation.stateMessage)).to.be.at.most(1024);
  });

  it("is that of the snapshot if the agent does not report it, with cuts marked", async () => {
    const { task, token } = await stage.active(ada);
    const time = "2026-01-02T03:04:05.000Z";
    const upload = (contents: string[], more: object) =>
      stage.agent(token).post(`/api/v2/workspaceagents/me/tasks/${task.id}/log-snapshot?format=agentapi`, {
        messages: contents.map((content, id) => ({ id, role: id % 2 ? "agent" : "user", content, time })),
        ...more,
      });
    expect((await upload(["a", "b"], {})).status).to.equal(204);
    expect(await said(task.id)).to.deep.equal(["a", "b"]);
    expect((await upload(["b", "c", "d"], { cut: true })).status).to.equal(204);
    expect(await said(task.id)).to.deep.equal(["b", "c", "d"]);
    await pause(task.id);
    const logs = await as.graphql("query($id: String!) { task(task: $id) { logs { isCut snapshot } } }", {
      id: task.id,
    });
    expect(logs.task.logs).to.deep.equal({ isCut: true, snapshot: true });
    // The contract has no further members.
    const { body } = await as.get(`/api/v2/tasks/me/${task.id}/logs`);
    expect(Object.keys(body)).to.have.members(["logs", "snapshot", "snapshot_at"]);
  });

  describe("asks for permissions, which", () => {
    const asked = async (person = ada) => {
      const { task, token } = await stage.active(person);
      await stage.converse(token, task.id);
      await stage.tell(token, task.id, {
        state: "REQUIRES_ACTION",
        stateMessage: "Delete all",
        messages: [question("1", "q1")],
      });
      return { task, token };
    };

    it("the owner decides once, and its agent hears of it on another replica", async () => {
      const { task, token } = await asked();
      const { conversation, currentState } = await read(task.id);
      expect(conversation).to.include({ state: "REQUIRES_ACTION", stateMessage: "Delete all" });
      expect(currentState).to.deep.equal({ state: "IDLE", message: "Delete all" });
      const there = actionsOf(token, task.id, { url: other.url });
      expect(await codeOf(decide(task.id, "q2", "yes"))).to.equal("NOT_FOUND");
      expect(await codeOf(decide(task.id, "q1", "perhaps"))).to.equal("BAD_USER_INPUT");
      const outcomes = await Promise.all(
        [as, new Client(other.url, ada.token), as].map((who) => codeOf(decide(task.id, "q1", "yes", who))),
      );
      expect(outcomes).to.have.members(["CONFLICT", "CONFLICT", "none"]);
      await there.received(1);
      expect(there.events[0]).to.include({ kind: "DECISION", requestId: "q1", optionId: "yes" });
      const { id } = there.events[0]!;
      await stage.tell(token, task.id, {
        state: "WORKING",
        messages: [question("1", "q1", { optionId: "yes" })],
        finishedActionIds: [id],
      });
      there.close();
      const part = (await read(task.id)).conversation.messages.nodes[0]!.parts[1];
      expect(part).to.include({ optionId: "yes", isCanceled: false });
      expect(await codeOf(decide(task.id, "q1", "no"))).to.equal("CONFLICT");
      const audited = `query($id: String) { auditEvents(filter: { resourceId: $id }) { nodes { action } } }`;
      const { nodes } = (await the().as(the().owner).graphql(audited, { id: task.id })).auditEvents;
      const decisions = nodes.filter(({ action }) => action === "AUTHORIZE" || action === "DENY");
      expect(decisions).to.deep.equal([{ action: "AUTHORIZE" }]);
    });

    it("users who may only read the task cannot decide, nor those who may not even read it", async () => {
      const { task, token } = await asked();
      const owner = the().as(the().owner);
      expect((await read(task.id, "", owner)).conversation.messages.totalCount).to.equal(1);
      expect(await codeOf(decide(task.id, "q1", "yes", owner))).to.equal("FORBIDDEN");
      expect(await codeOf(interrupt(task.id, owner))).to.equal("FORBIDDEN");
      const eve = the().as(await the().user("eve"));
      expect(await codeOf(decide(task.id, "q1", "yes", eve))).to.equal("NOT_FOUND");
      expect(await codeOf(interrupt(task.id, eve))).to.equal("NOT_FOUND");
      expect(await codeOf(decide(task.id, "q1", "yes", stage.agent(token)))).to.not.equal("none");
      expect(await codeOf(decide(task.id, "q1", "yes"))).to.equal("none");
    });

    it("wait for an agent that was away, also after the server that took the decision has gone", async () => {
      const { task, token } = await asked();
      const server = await startServer(the().database.url);
      await decide(task.id, "q1", "no", new Client(server.url, ada.token));
      await server.close();
      for (const _ of [1, 2]) {
        const actions = actionsOf(token, task.id);
        await actions.received(1);
        expect(actions.events[0]).to.include({ kind: "DECISION", optionId: "no" });
        actions.close();
      }
    });

    it("are closed when the program starts again, and cannot be decided while the task is paused", async () => {
      const { task, token } = await asked();
      await pause(task.id);
      expect(await codeOf(decide(task.id, "q1", "yes"))).to.equal("CONFLICT");
      const next = await resume(task.id);
      await stage.converse(next, task.id);
      expect(await codeOf(decide(task.id, "q1", "yes"))).to.equal("CONFLICT");
      const part = (await read(task.id)).conversation.messages.nodes[0]!.parts[1];
      expect(part).to.include({ optionId: null, isCanceled: true });
      expect(await codeOf(stage.tell(token, task.id, {}))).to.equal("UNAUTHENTICATED");
    });
  });

  it("is interrupted by its owner while the program works", async () => {
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    const actions = actionsOf(token, task.id);
    await stage.tell(token, task.id, { state: "IDLE" });
    expect(await codeOf(interrupt(task.id))).to.equal("CONFLICT");
    await stage.tell(token, task.id, { state: "WORKING" });
    await interrupt(task.id);
    await actions.received(1);
    expect(actions.events[0]).to.include({ kind: "INTERRUPT", requestId: "", optionId: "" });
    for (let n = 1; n < 20; n++) await interrupt(task.id);
    expect(await codeOf(interrupt(task.id)), "more than the agent carries out").to.equal("CONFLICT");
    actions.close();
  });

  it("is interrupted by the Escape key if the program speaks AgentAPI", async () => {
    const { task } = await stage.active(ada);
    const bodies: string[] = [];
    program.handlers["POST /message"] = (response, body) => {
      bodies.push(body);
      response.end('{"ok":true}');
      return true;
    };
    await interrupt(task.id);
    expect(bodies.map((each) => JSON.parse(each))).to.deep.equal([{ content: "\u001b", type: "raw" }]);
    program.handlers["POST /message"] = (response) => Boolean(response.writeHead(500).end());
    expect(await codeOf(interrupt(task.id))).to.equal("UNAVAILABLE");
  });

  describe("is followed", () => {
    const query = `subscription($id: UUID!, $since: Int) { taskConversationChanged(id: $id, since: $since) {
      conversation { state revision } messages { id ${parts} } } }`;
    const follow = (id: string, since?: number, who: Pick<Person, "token"> = ada) =>
      watch(the(), the().as(who), query, { id, since });
    const textsOf = ({ events }: { events: Anything[] }) =>
      events.flatMap(({ messages }) => messages.map((each: Anything) => each.parts[0].text));

    it("change by change, and from the revision of a page without a gap", async () => {
      const { task, token } = await stage.active(ada);
      await stage.converse(token, task.id);
      await stage.tell(token, task.id, { state: "WORKING", messages: [text("1", "USER", "One")] });
      const { revision } = (await read(task.id)).conversation;
      await stage.tell(token, task.id, { messages: [text("2", "AGENT", "Tw")] });
      const followed = follow(task.id, revision);
      await eventually(() => textsOf(followed).length === 1, "the message since the page");
      await stage.tell(token, task.id, { messages: [text("2", "AGENT", "Two")] });
      await eventually(() => textsOf(followed).at(-1) === "Two", "the changed message");
      await stage.tell(token, task.id, { state: "IDLE" });
      await eventually(() => followed.events.at(-1)!.conversation.state === "IDLE", "the state without a message");
      expect(textsOf(followed)).to.deep.equal(["Tw", "Two"]);
      followed.close();
    });

    it("in changes of at most 50 messages, from which a client can resume", async () => {
      const { task, token } = await stage.active(ada);
      await stage.converse(token, task.id);
      const all = Array.from({ length: 120 }, (_, n) => text(`${n}`, "USER", `m${n}`));
      await stage.tell(token, task.id, { messages: all.slice(0, 60) });
      await stage.tell(token, task.id, { messages: all.slice(60) });
      const followed = follow(task.id, 0);
      await eventually(() => textsOf(followed).length >= 120, "all messages");
      const sizes = followed.events.map(({ messages }) => messages.length);
      expect(sizes).to.deep.equal([50, 50, 20]);
      expect(textsOf(followed)).to.deep.equal(all.map(({ parts: [part] }) => part!.text));
      const [first] = followed.events;
      followed.close();
      const resumed = follow(task.id, first!.conversation.revision);
      await eventually(() => textsOf(resumed).includes("m119"), "the rest");
      expect(textsOf(resumed)).to.include.members(all.slice(50).map(({ parts: [part] }) => part!.text));
      resumed.close();
    });

    it("only by those who may connect to the apps of the workspace", async () => {
      const { task, token } = await stage.active(ada);
      await stage.converse(token, task.id);
      for (const [who, code] of [
        [the().owner, "FORBIDDEN"],
        [await the().user("eve"), "NOT_FOUND"],
      ] as const) {
        const refused = follow(task.id, 0, who);
        const refusal = await refused.received(1).catch((error: Error) => error.message);
        expect(refusal).to.include(code);
        refused.close();
      }
    });
  });

  it("is deleted with its task", async () => {
    const { task, token } = await stage.active(ada);
    await stage.converse(token, task.id);
    await stage.tell(token, task.id, { messages: [text("1", "USER", "Hello")] });
    await as.delete(`/api/v2/tasks/me/${task.id}`);
    await stage.carryOut();
    const { rows } = await the().app.services.database.pool.query(
      "select 1 from task_conversations where task_id = $1 union all select 1 from task_conversation_messages where task_id = $1",
      [task.id],
    );
    expect(rows).to.deep.equal([]);
  });
});
