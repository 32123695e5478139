// What users send to the programs of tasks: immediately, through the queue, and when programs or servers fail.
// Looks inside: attempts are minutes apart, a lost one is looked for during ten seconds, inputs expire, and those of deleted tasks are in no response.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { confirmation } from "../../../src/domain/tasks/input-delivery.js";
import type { AgentProgram } from "../../support/agent-api.js";
import { watch } from "../../support/agents.js";
import { type App, startServer } from "../../support/app.js";
import { isLong } from "../../support/repeats.js";
import { countRows, setColumns, setTimes } from "../../support/tables.js";
import { passTime, type TaskStage, withTasks } from "../../support/tasks.js";
import { eventually } from "../../support/watchers.js";
import { type Answer, Client, type Person, world } from "../../support/world.js";

const tasks = "/api/v2/tasks";

interface Input {
  id: string;
  content: string;
  state: string;
  lastError: string;
}

describe("inputs of tasks", () => {
  const the = world();
  let other: App;
  let program: AgentProgram;
  let stage: TaskStage;
  let ada: Person;
  let as: Client;
  let there: Client;

  withTasks(the, (opened) => ({ stage, program } = opened));
  before(async () => {
    other = await startServer(the().database.url);
  });
  after(() => other.close());
  beforeEach(async () => {
    ada = await the().user("ada");
    as = the().as(ada);
    there = new Client(other.url, ada.token);
    // Tests share the program: what others left in their queues is not for it, and goes before the program waits again.
    const ended = { state: "canceled", finished_at: new Date() };
    await setColumns(the(), "task_messages", { finished_at: null }, ended);
    program.reset();
  });

  const send = (id: string, input: unknown, who = as): Promise<Answer> => who.post(`${tasks}/me/${id}/send`, { input });

  /** The inputs of a task, as `content state`. */
  const inputsOf = async (id: string): Promise<Input[]> =>
    (await as.graphql(`query($id: String!) { task(task: $id) { inputs { id content state lastError } } }`, { id })).task
      .inputs;
  const statesOf = async (id: string) => (await inputsOf(id)).map(({ content, state }) => `${content} ${state}`);

  const becomes = (id: string, expected: string[], timeout?: number) =>
    eventually(
      async () => (await statesOf(id)).join() === expected.join(),
      `the inputs are ${expected.join()}`,
      timeout,
    );

  describe("for a program that waits", () => {
    it("are delivered to conversations that are too long to read, but cannot be confirmed by them", async () => {
      const { task } = await stage.active(ada);
      program.handlers["GET /messages"] = (response) => {
        response.end(JSON.stringify({ messages: [], more: "x".repeat(1024 * 1024) }));
        return true;
      };
      expect(await send(task.id, "Hi")).to.include({ status: 204 });
      expect(program.inputs).to.deep.equal(["Hi"]);
      const logs = await as.get(`${tasks}/me/${task.id}/logs`);
      expect([logs.status, logs.body.message]).to.deep.equal([502, "Failed to reach the task app."]);
    });

    it("are delivered immediately", async () => {
      const { task } = await stage.active(ada);
      expect(await send(task.id, "Hi")).to.include({ status: 204, body: "" });
      expect(program.inputs).to.deep.equal(["Hi"]);
      expect(program.count("POST /message")).to.equal(1);
      expect(await statesOf(task.id)).to.deep.equal(["Hi DELIVERED"]);
      expect((await send(task.id, " \n")).status, "white space").to.equal(204);
    });

    it("have a text of limited length", async () => {
      const { task } = await stage.active(ada);
      for (const input of [undefined, "", "a\u0000b", "a\u001bb", "x".repeat(65_537)]) {
        const refused = await send(task.id, input);
        expect(refused, JSON.stringify(refused.body)).to.include({ status: 400 });
        expect(refused.body.validations.map(({ field }: { field: string }) => field)).to.deep.equal(["input"]);
      }
      expect((await send(task.id, "é".repeat(32_768))).status).to.equal(204);
    });

    it("are failed if it rejects them, with the title of its report", async () => {
      const { task } = await stage.active(ada);
      const title = `Not\u0000now ${"x".repeat(600)}`;
      program.handlers["POST /message"] = (response) => {
        response.writeHead(422, { "content-type": "application/problem+json" }).end(JSON.stringify({ title }));
        return true;
      };
      const refused = await send(task.id, "Hi");
      expect(refused).to.include({ status: 502 });
      expect(refused.body.message).to.equal("The task app rejected the message.");
      expect(refused.body.detail).to.equal(title.replace("\u0000", " ").slice(0, 512));
      const [input] = await inputsOf(task.id);
      expect(input).to.include({ state: "FAILED", lastError: refused.body.detail });
    });

    it("are not stored if it cannot be reached", async () => {
      const { task } = await stage.active(ada);
      program.handlers["GET /status"] = (response) => {
        response.destroy();
        return true;
      };
      const refused = await send(task.id, "Hi");
      expect(refused).to.include({ status: 502 });
      expect(refused.body.message).to.equal("Failed to reach the task app.");
      program.handlers["GET /status"] = (response) => {
        response.writeHead(200).end("not JSON");
        return true;
      };
      expect((await send(task.id, "Hi")).status).to.equal(502);
      expect(await statesOf(task.id)).to.deep.equal([]);
      expect(program.count("POST /message")).to.equal(0);
    });

    it("are sent once if the connection is lost, and found in the conversation", async () => {
      const { task } = await stage.active(ada);
      program.handlers["POST /message"] = (response, body) => {
        program.say("user", JSON.parse(body).content as string);
        response.destroy();
        return true;
      };
      expect((await send(task.id, "Hi")).status).to.equal(204);
      expect(program.count("POST /message")).to.equal(1);
      expect(await statesOf(task.id)).to.deep.equal(["Hi DELIVERED"]);
    });

    it("are unconfirmed if the connection is lost and the conversation has only older ones, and are not sent again", async () => {
      const { task } = await stage.active(ada);
      program.say("user", "Hi");
      program.handlers["POST /message"] = (response) => {
        response.destroy();
        return true;
      };
      const usual = { ...confirmation };
      if (!isLong) Object.assign(confirmation, { within: usual.within / 20, every: usual.every / 20 });
      const looks = program.count("GET /messages");
      const lost = await send(task.id, "Hi").finally(() => Object.assign(confirmation, usual));
      // Once a second for ten seconds, but for the last one.
      expect(program.count("GET /messages") - looks).to.be.within(2, 11);
      expect(lost).to.include({ status: 502 });
      expect(lost.body.message).to.equal("Delivery could not be confirmed.");
      expect(await statesOf(task.id)).to.deep.equal(["Hi UNCONFIRMED"]);
      delete program.handlers["POST /message"];
      expect((await send(task.id, "Next")).status).to.equal(204);
      expect(program.inputs).to.deep.equal(["Hi", "Next"]);
      expect(program.count("POST /message")).to.equal(2);
    });

    it("are delivered although the client has gone", async () => {
      const { task } = await stage.active(ada);
      const arrived = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      program.handlers["POST /message"] = async () => {
        arrived.resolve();
        await gate.promise;
        return false;
      };
      const leaving = new AbortController();
      const gone = fetch(`${the().url}${tasks}/me/${task.id}/send`, {
        method: "POST",
        headers: { "Service-Session-Token": ada.token, "Content-Type": "application/json" },
        body: JSON.stringify({ input: "Hi" }),
        signal: leaving.signal,
      }).then(
        () => "answered",
        () => "gone",
      );
      await arrived.promise;
      expect(await statesOf(task.id)).to.deep.equal(["Hi DELIVERING"]);
      leaving.abort();
      expect(await gone).to.equal("gone");
      gate.resolve();
      await becomes(task.id, ["Hi DELIVERED"]);
      expect(program.inputs).to.deep.equal(["Hi"]);
    });
  });

  describe("for a program that works", () => {
    it("wait, and are delivered once and in order, whichever replica took them", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      for (const [input, who] of [
        ["one", as],
        ["two", there],
        ["three", as],
      ] as const)
        expect((await send(task.id, input, who)).status).to.equal(204);
      expect(await statesOf(task.id)).to.deep.equal(["one QUEUED", "two QUEUED", "three QUEUED"]);
      program.status = "stable";
      expect((await send(task.id, "four", there)).status, "behind those that wait").to.equal(204);
      await becomes(task.id, ["one DELIVERED", "two DELIVERED", "three DELIVERED", "four DELIVERED"], 20_000);
      expect(program.inputs).to.deep.equal(["one", "two", "three", "four"]);
      expect(program.count("POST /message")).to.equal(4);
    });

    it("are limited in number", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      const answers = await Promise.all(
        Array.from({ length: 22 }, (_, number) => send(task.id, `input ${number}`, number % 2 ? as : there)),
      );
      expect(answers.filter(({ status }) => status === 204)).to.have.length(20);
      const full = answers.find(({ status }) => status === 409)!;
      expect(full.body.message).to.equal("The queue of the task is full: it holds 20 inputs.");
      const { task: seen } = await as.graphql(`{ task(task: "${task.id}") { queuedInputs { content state } } }`);
      expect(seen.queuedInputs).to.have.length(20);
    });

    it("expire", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      expect((await send(task.id, "old")).status).to.equal(204);
      expect((await send(task.id, "new")).status).to.equal(204);
      await setTimes(the(), "task_messages", { task_id: task.id, content: "old" }, { created_at: "-25 h" });
      program.status = "stable";
      await passTime(the());
      await becomes(task.id, ["old EXPIRED", "new DELIVERED"], 20_000);
      expect(program.inputs).to.deep.equal(["new"]);
    });

    it("can be canceled by their sender and by those who may update the task, until they are sent", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      for (const input of ["one", "two", "three"]) await send(task.id, input);
      const [one, two, three] = await inputsOf(task.id);
      const cancel = `mutation($id: UUID!) { cancelTaskInput(input: { id: $id }) { taskInput { state } } }`;
      const eve = the().as(await the().user("eve"));
      expect((await eve.failure(cancel, { id: one!.id })).code).to.equal("NOT_FOUND");
      const auditor = await the().user("auditor");
      await the().grant(auditor, "auditor");
      expect((await the().as(auditor).failure(cancel, { id: one!.id })).code).to.be.oneOf(["NOT_FOUND", "FORBIDDEN"]);
      const reader = await the().user("reader");
      const share = `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`;
      const userPerms = [{ id: reader.id, role: "use" }];
      await as.graphql(share, { input: { workspace: task.workspace_id.uuid, userPerms } });
      expect((await the().as(reader).failure(cancel, { id: one!.id })).code).to.equal("FORBIDDEN");
      const { cancelTaskInput: ended } = await as.graphql(cancel, { id: one!.id });
      expect(ended.taskInput.state).to.equal("CANCELED");
      await the().as(the().owner).graphql(cancel, { id: two!.id });
      expect((await as.failure(cancel, { id: two!.id })).code).to.equal("CONFLICT");
      const arrived = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      program.handlers["POST /message"] = async () => {
        arrived.resolve();
        await gate.promise;
        return false;
      };
      program.status = "stable";
      await passTime(the());
      await arrived.promise;
      expect((await as.failure(cancel, { id: three!.id })).code, "while it is sent").to.equal("CONFLICT");
      gate.resolve();
      await becomes(task.id, ["one CANCELED", "two CANCELED", "three DELIVERED"]);
      expect(program.inputs).to.deep.equal(["three"]);
    });

    it("can be edited where they are by those who may send inputs, until they are sent", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      for (const input of ["one", "two", "three"]) await send(task.id, input);
      const [one, two, three] = await inputsOf(task.id);
      const edit = `mutation($id: UUID!, $input: String!) {
        editTaskInput(input: { id: $id, input: $input }) { taskInput { content state sender { id } } } }`;
      const eve = the().as(await the().user("eve"));
      expect((await eve.failure(edit, { id: one!.id, input: "x" })).code).to.equal("NOT_FOUND");
      // Updates all tasks, but does not enter workspaces.
      expect((await the().as(the().owner).failure(edit, { id: one!.id, input: "x" })).code).to.equal("FORBIDDEN");
      const [reader, admin] = await the().users("reader", "admin");
      const share = `mutation($input: UpdateWorkspaceAclInput!) { updateWorkspaceAcl(input: $input) { __typename } }`;
      const userPerms = [
        { id: reader!.id, role: "use" },
        { id: admin!.id, role: "admin" },
      ];
      await as.graphql(share, { input: { workspace: task.workspace_id.uuid, userPerms } });
      expect((await the().as(reader!).failure(edit, { id: one!.id, input: "x" })).code).to.equal("FORBIDDEN");
      const narrow = async (scope: string) => the().as(await the().scoped(ada, scope));
      const refused = await (await narrow("task:update")).failure(edit, { id: one!.id, input: "x" });
      expect(refused.code).to.equal("FORBIDDEN");
      for (const input of ["", "a\u0007b", "x".repeat(65_537)]) {
        const { validations } = (await as.failure(edit, { id: one!.id, input })).errors[0]!.extensions;
        expect(validations.map(({ field }: { field: string }) => field)).to.deep.equal(["input.input"]);
      }
      const watcher = watch(the(), as, `subscription { taskChanged(id: "${task.id}") { inputs { content } } }`);
      const shown = () =>
        watcher.events
          .at(-1)
          ?.inputs.map(({ content }) => content)
          .join();
      await eventually(() => shown() === "one,two,three", "the watcher sees the inputs");
      const changed = await as.graphql(edit, { id: one!.id, input: "first" });
      expect(changed.editTaskInput.taskInput).to.deep.equal({
        content: "first",
        state: "QUEUED",
        sender: { id: ada.id },
      });
      await eventually(() => shown() === "first,two,three", "the watcher is told");
      watcher.close();
      const byAdmin = await the().as(admin!).graphql(edit, { id: two!.id, input: "second" });
      expect(byAdmin.editTaskInput.taskInput.sender.id).to.equal(admin!.id);
      const byToken = await (await narrow("workspace:application_connect")).failure(edit, { id: two!.id, input: "x" });
      expect(byToken.code, "of another sender, without the scope to update tasks").to.equal("FORBIDDEN");
      expect(await statesOf(task.id)).to.deep.equal(["first QUEUED", "second QUEUED", "three QUEUED"]);
      const audited = `{ auditEvents(filter: { resourceType: "task_input", action: UPDATE }, first: 2) { nodes { resourceId } } }`;
      const { nodes } = (await the().as(the().owner).graphql(audited)).auditEvents;
      expect(nodes.map(({ resourceId }: { resourceId: string }) => resourceId)).to.deep.equal([two!.id, one!.id]);

      // The text is read before the program says its state. What is edited until then is sent as edited.
      const asked = Promise.withResolvers<void>();
      const told = Promise.withResolvers<void>();
      program.handlers["GET /status"] = async () => {
        asked.resolve();
        await told.promise;
        return false;
      };
      const arrived = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      program.handlers["POST /message"] = async () => {
        arrived.resolve();
        await gate.promise;
        return false;
      };
      program.status = "stable";
      await passTime(the());
      await asked.promise;
      await as.graphql(edit, { id: one!.id, input: "very first" });
      told.resolve();
      await arrived.promise;
      const { code, message } = await as.failure(edit, { id: one!.id, input: "late" });
      expect([code, message], "while it is sent").to.deep.equal(["CONFLICT", "The input is not queued any more."]);
      gate.resolve();
      await becomes(task.id, ["very first DELIVERED", "second DELIVERED", "three DELIVERED"], 20_000);
      expect((await as.failure(edit, { id: three!.id, input: "late" })).code).to.equal("CONFLICT");
      expect(program.inputs).to.deep.equal(["very first", "second", "three"]);
    });

    it("are tried again if it cannot be reached, and go on after one that fails", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      for (const input of ["one", "two"]) await send(task.id, input);
      program.handlers["GET /status"] = (response) => {
        response.destroy();
        return true;
      };
      await passTime(the());
      await eventually(async () => (await inputsOf(task.id))[0]!.lastError !== "", "a failed attempt", 20_000);
      expect(await statesOf(task.id)).to.deep.equal(["one QUEUED", "two QUEUED"]);
      delete program.handlers["GET /status"];
      program.handlers["POST /message"] = (response) => {
        delete program.handlers["POST /message"];
        response.writeHead(400).end();
        return true;
      };
      program.status = "stable";
      await passTime(the());
      await becomes(task.id, ["one FAILED", "two DELIVERED"], 20_000);
    });

    it("wait while the task is paused, and are delivered after it was resumed", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      expect((await send(task.id, "later")).status).to.equal(204);
      await as.post(`${tasks}/me/${task.id}/pause`);
      await stage.carryOut();
      program.status = "stable";
      await passTime(the());
      const attempt = { task_id: task.id, attempts: 0 };
      await eventually(async () => (await countRows(the(), "task_messages", attempt)) === 0, "a look");
      expect(await statesOf(task.id)).to.deep.equal(["later QUEUED"]);
      await as.post(`${tasks}/me/${task.id}/resume`);
      await stage.ready((await stage.carryOut())!);
      await passTime(the());
      await becomes(task.id, ["later DELIVERED"], 20_000);
      expect(program.inputs).to.deep.equal(["later"]);
    });

    it("are canceled with the task", async () => {
      const { task } = await stage.active(ada);
      program.status = "running";
      await send(task.id, "never");
      expect((await as.delete(`${tasks}/me/${task.id}`)).status).to.equal(202);
      expect(await countRows(the(), "task_messages", { task_id: task.id, state: "canceled" })).to.equal(1);
      await stage.carryOut();
    });
  });

  it("do not reach addresses of the machine's own services, nor follow redirects", async () => {
    const { task } = await stage.active(ada);
    let calls = 0;
    const target = createServer((_, response) => void (calls++, response.writeHead(200).end('{"status":"stable"}')));
    target.listen(0, "127.0.0.1");
    await once(target, "listening");
    const { port } = target.address() as AddressInfo;
    program.handlers["GET /status"] = (response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${port}/status` }).end();
      return true;
    };
    expect((await send(task.id, "Hi")).status).to.equal(502);
    expect(calls).to.equal(0);
    target.close();
    for (const url of [
      "http://169.254.169.254/latest",
      "http://[fe80::1]:80",
      "http://0.0.0.0:80",
      "ftp://127.0.0.1",
    ]) {
      await setColumns(the(), "workspace_apps", { slug: "chat" }, { url });
      const refused = await send(task.id, "Hi");
      expect(refused, url).to.include({ status: 502 });
      expect(refused.body.message).to.equal("Failed to reach the task app.");
    }
    expect(await statesOf(task.id)).to.deep.equal([]);
  });
});
