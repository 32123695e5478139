// Calls to the programs of tasks, good ones and others.
// Looks inside: the calls of tasks to agents, with limits that a task reaches only after minutes.
import { expect } from "chai";
import { AgentApi, AgentRejection, AgentUnreachable } from "../../src/infrastructure/agent-api.js";
import { AgentProgram } from "../support/agent-api.js";

const options = {
  taskAppTimeout: 20_000,
  taskAppSendTimeout: 20_000,
  taskAppAllowLoopback: true,
  taskAppAllowedCidrs: [],
};

async function unreachable(call: Promise<unknown>): Promise<AgentUnreachable> {
  const failure = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).to.be.instanceOf(AgentUnreachable);
  return failure as AgentUnreachable;
}

const at = (base: string) => ({ base, bearer: "of-this-start" });

describe("AgentAPI", () => {
  const api = new AgentApi(options);
  /** For programs that never respond. */
  const impatient = new AgentApi({ ...options, taskAppTimeout: 2_000, taskAppSendTimeout: 2_000 });
  let program: AgentProgram;
  beforeEach(async () => {
    program = await AgentProgram.open();
  });
  afterEach(() => program.close());

  it("reads the status and the conversation, without unknown roles, in order", async () => {
    program.say("agent", "Hello");
    program.say("system", "secret");
    program.say("user", "Hi");
    program.messages.reverse();
    expect(await api.status(at(program.url))).to.equal("stable");
    const messages = await api.messages(at(program.url));
    expect(messages.map(({ id, role, content }) => [id, role, content])).to.deep.equal([
      [0, "agent", "Hello"],
      [2, "user", "Hi"],
    ]);
  });

  it("sends a message exactly as AgentAPI has it", async () => {
    await api.send(at(program.url), "Do it");
    expect(program.inputs).to.deep.equal(["Do it"]);
  });

  it("tells a rejection, with its title, from a failure", async () => {
    program.handlers["POST /message"] = (response) => {
      response.writeHead(422).end(JSON.stringify({ title: "x".repeat(600) }));
      return true;
    };
    const failure = await api.send(at(program.url), "Do it").catch((error: unknown) => error);
    expect(failure).to.be.instanceOf(AgentRejection);
    expect((failure as AgentRejection).title).to.equal("x".repeat(512));
  });

  it("knows whether a program may have received a message", async () => {
    program.handlers["POST /message"] = (response) => {
      response.destroy();
      return true;
    };
    expect((await unreachable(api.send(at(program.url), "Do it"))).wasSent).to.equal(true);
    program.handlers["POST /message"] = () => true;
    expect((await unreachable(impatient.send(at(program.url), "Do it"))).wasSent, "no response").to.equal(true);
    const { url } = program;
    await program.close();
    expect((await unreachable(api.send(at(url), "Do it"))).wasSent, "no program").to.equal(false);
    program = await AgentProgram.open();
  });

  const broken: Record<string, (response: import("node:http").ServerResponse) => unknown> = {
    "is not JSON": (response) => response.end("<html>"),
    "has no status": (response) => response.end("{}"),
    "has an unknown status": (response) => response.end('{"status":"dancing"}'),
    "is a redirect": (response) => response.writeHead(302, { location: "/other" }).end(),
    "is an error": (response) => response.writeHead(500).end(),
    "is huge": (response) => response.end(JSON.stringify({ status: "stable", more: "x".repeat(70_000) })),
    "never comes": () => {},
  };
  for (const [what, respond] of Object.entries(broken))
    it(`fails if the response ${what}`, async () => {
      program.handlers["GET /status"] = (response) => {
        respond(response);
        return true;
      };
      await unreachable((what === "never comes" ? impatient : api).status(at(program.url)));
      expect(program.requests).to.deep.equal(["GET /status"]);
    });

  it("reads conversations of at most 1 MiB and 64 levels", async () => {
    const conversation = (text: string, levels = 0) =>
      `{"messages":[{"id":7,"role":"agent","content":"${text}","time":"2026-01-01T00:00:00Z"}],"more":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    let body: string;
    program.handlers["GET /messages"] = (response) => {
      response.end(body);
      return true;
    };
    const room = 1024 * 1024 - conversation("", 1).length;
    body = conversation("x".repeat(room), 1);
    expect(await api.messages(at(program.url))).to.have.length(1);
    body = conversation("[{".repeat(100), 63);
    expect(await api.messages(at(program.url))).to.have.length(1);
    for (const bad of [
      conversation("x".repeat(room + 1), 1),
      conversation("", 64),
      `\ufeff\n\t ${conversation("", 64)}`,
    ]) {
      body = bad;
      expect(await unreachable(api.messages(at(program.url)))).to.include({ wasSent: true, isTooLong: true });
    }
  });

  it("skips events of more than 64 levels", async () => {
    const deep = { id: 1, role: "agent", message: "deep", time: new Date().toISOString() };
    const text = JSON.stringify(deep).slice(0, -1) + `,"more":${"[".repeat(64)}${"]".repeat(64)}}`;
    program.handlers["GET /events"] = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const data of [text, JSON.stringify({ ...deep, id: 2, message: "flat" })])
        response.write(`event: message_update\ndata: ${data}\n\n`);
      return true;
    };
    const life = new AbortController();
    const events = await api.events(at(program.url), life.signal);
    expect((await events.next()).value).to.include({ id: 2, content: "flat" });
    life.abort();
    await events.next().catch(() => {});
  });

  it("calls no addresses that are not permitted", async () => {
    const strict = new AgentApi({ ...options, taskAppAllowLoopback: false });
    const port = new URL(program.url).port;
    for (const host of ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"])
      await unreachable(strict.status(at(`http://${host}:${port}`)));
    for (const host of ["169.254.169.254", "[fe80::1]", "224.0.0.1", "0.0.0.0"])
      await unreachable(api.status(at(`http://${host}:${port}`)));
    expect(program.requests).to.deep.equal([]);
  });

  it("narrows the addresses to those that the operator allows", async () => {
    const { settings } = await import("../../src/config/settings.js");
    const [network] = settings.taskAppAllowedCidrs.rule.parse("10.0.0.0/8");
    await unreachable(new AgentApi({ ...options, taskAppAllowedCidrs: [network!] }).status(at(program.url)));
    expect(program.requests).to.deep.equal([]);
  });

  it("streams the conversation until the watcher or the program ends it", async () => {
    program.say("agent", "One");
    const life = new AbortController();
    const events = await api.events(at(program.url), life.signal);
    expect((await events.next()).value).to.include({ content: "One", role: "agent" });
    program.say("user", "Two");
    expect((await events.next()).value).to.include({ content: "Two", role: "user" });
    life.abort();
    await events.next().catch(() => {});

    const others = await api.events(at(program.url), new AbortController().signal);
    await program.close();
    for (let event = await others.next().catch(() => ({ done: true })); !event.done;)
      event = await others.next().catch(() => ({ done: true }));
    program = await AgentProgram.open();
  });
});
