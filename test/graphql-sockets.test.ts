// GraphQL over WebSocket: who may connect and for how long, and many operations on one socket.
import { expect } from "chai";
import { type Client as SocketClient, createClient, type ExecutionResult } from "graphql-ws";
import { WebSocket } from "ws";
import { startServer } from "./support/app.js";
import { deliver } from "./support/inbox.js";
import { eventually } from "./support/watchers.js";
import { Client as HttpClient, type Person, world } from "./support/world.js";

type Result = ExecutionResult<Record<string, any>, any>; // oxlint-disable-line typescript/no-explicit-any -- results of every shape

describe("GraphQL over WebSocket", () => {
  const w = world();
  const endings: Array<() => unknown> = [];
  afterEach(() => endings.splice(0).forEach((end) => void end()));

  const address = (url = w().url) => `${url.replace("http", "ws")}/graphql`;

  function connect({ token }: Pick<Person, "token">, url?: string): SocketClient {
    const client = createClient({
      url: address(url),
      webSocketImpl: WebSocket,
      connectionParams: { sessionToken: token },
      retryAttempts: 0,
      lazyCloseTimeout: 60_000,
    });
    endings.push(() => client.dispose());
    return client;
  }

  /** Returns the first result of an operation. */
  async function run(client: SocketClient, query: string, variables?: Record<string, unknown>): Promise<Result> {
    for await (const result of client.iterate({ query, variables })) return result as Result;
    throw new Error("There was no result.");
  }

  /** Opens a bare socket; returns the messages that it receives and the code with which it is closed. */
  async function bare(headers: Record<string, string> = {}, protocol = "graphql-transport-ws", url?: string) {
    const socket = new WebSocket(address(url), protocol, { headers });
    endings.push(() => socket.terminate());
    const messages: Array<{ type: string; id?: string; payload?: any }> = []; // oxlint-disable-line typescript/no-explicit-any -- messages of every shape
    socket.on("message", (data) => messages.push(JSON.parse((data as Buffer).toString())));
    const closed = new Promise<[number, string]>((resolve) =>
      socket.once("close", (code, reason) => resolve([code, String(reason)])),
    );
    await new Promise((resolve) => socket.once("open", resolve));
    return {
      messages,
      closed,
      socket,
      say: (message: unknown) => socket.send(typeof message === "string" ? message : JSON.stringify(message)),
    };
  }

  const init = (token?: unknown) => ({
    type: "connection_init",
    ...(token !== undefined && { payload: { sessionToken: token } }),
  });

  describe("accepts a client", () => {
    it("with the token of a session in its first message", async () => {
      const result = await run(connect(w().owner), "{ me { username } }");
      expect(result).to.deep.equal({ data: { me: { username: "owner" } } });
    });

    it("with a credential in a header of the upgrade", async () => {
      const { messages, say } = await bare({ "Service-Session-Token": w().owner.token });
      say(init());
      await eventually(() => messages.length === 1, "acknowledged");
      expect(messages[0]).to.deep.equal({ type: "connection_ack" });
    });

    for (const [what, token] of Object.entries({
      "no token": undefined,
      "a malformed token": "nonsense",
      "an unknown token": `stw_se_${"a".repeat(10)}-${"b".repeat(43)}`,
      "a token that is not text": { not: "text" },
    })) {
      it(`but closes with 4403 with ${what}`, async () => {
        const { closed, say } = await bare();
        say(init(token));
        expect((await closed)[0]).to.equal(4403);
      });
    }

    it("but not before its first message, nor with unknown messages or protocols", async () => {
      const early = await bare();
      early.say({ type: "subscribe", id: "1", payload: { query: "{ me { id } }" } });
      expect((await early.closed)[0]).to.equal(4401);
      for (const nonsense of ["nonsense", '{"type":"nonsense"}', "[]"]) {
        const confused = await bare();
        confused.say(nonsense);
        expect((await confused.closed)[0], nonsense).to.equal(4400);
      }
      const foreign = new WebSocket(address(), "graphql-ws");
      foreign.on("error", () => {});
      await new Promise((resolve) => foreign.once("close", resolve));
    });
  });

  it("closes with 4403 when the session ends on another replica", async () => {
    const replica = await startServer(w().database.url);
    try {
      const [ada] = await w().users("ada");
      const { messages, closed, say } = await bare();
      say(init(ada!.token));
      await eventually(() => messages.length === 1, "acknowledged");
      const { body } = await fetch(`${replica.url}/graphql`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "Service-Session-Token": ada!.token },
        body: JSON.stringify({ query: "mutation { logout { __typename } }" }),
      }).then(async (response) => ({ body: (await response.json()) as Result }));
      expect(body).to.not.have.property("errors");
      expect(await closed).to.deep.equal([4403, "Session ended"]);
    } finally {
      await replica.close();
    }
  });

  it("checks the caller's permissions for each operation again", async () => {
    const [ada] = await w().users("ada");
    await w().grant(ada!, "user-admin");
    const client = connect(ada!);
    const create = (name: string) =>
      run(client, `mutation { createGroup(input: { organization: "default", name: "${name}" }) { group { name } } }`);
    await eventually(async () => !(await create("while-admin")).errors, "the role counts");
    await w().grant({ id: ada!.id }, "member");
    await eventually(
      async () => (await create("as-member")).errors?.[0]?.extensions?.code === "FORBIDDEN",
      "the role is gone",
      2_000,
    );
  });

  it("runs mutations concurrently, each in a transaction of its own", async () => {
    const client = connect(w().owner);
    const create = (name: string) =>
      run(
        client,
        `mutation($name: String!) { createGroup(input: { organization: "default", name: $name }) { group { name } } }`,
        { name },
      );
    const names = Array.from({ length: 20 }, (_, n) => (n % 4 === 0 ? `-bad-${n}` : `side-${n}`));
    const results = await Promise.all(names.map(create));
    results.forEach((result, n) => {
      if (n % 4 === 0) expect(result.errors![0]!.extensions).to.deep.include({ code: "BAD_USER_INPUT" });
      else expect(result).to.deep.equal({ data: { createGroup: { group: { name: names[n] } } } });
    });
    const { groups } = await w().as(w().owner).graphql('{ groups(filter: { search: "side-" }) { totalCount } }');
    expect(groups.totalCount).to.equal(15);
  });

  it("runs 100 operations concurrently, and no more", async () => {
    const { messages, say } = await bare();
    say(init(w().owner.token));
    await eventually(() => messages.length === 1, "acknowledged");
    for (let id = 1; id <= 120; id++)
      say({
        type: "subscribe",
        id: String(id),
        payload: { query: "{ groups { nodes { id members { totalCount } } } }" },
      });
    const ended = () => messages.filter(({ type }) => type === "complete" || type === "error");
    await eventually(() => ended().length === 120, "all have ended");
    const refused = messages.filter(({ type }) => type === "error");
    expect(refused.length).to.be.within(1, 20);
    for (const { payload } of refused)
      expect(payload[0].extensions).to.include({ code: "RATE_LIMITED", retryAfter: 1 });
    say({ type: "subscribe", id: "later", payload: { query: "{ me { id } }" } });
    await eventually(() => messages.some(({ id, type }) => id === "later" && type === "next"), "there is room again");
  });

  it("counts each operation as a request of its caller", async () => {
    const [ada] = await w().users("ada");
    const app = await startServer(w().database.url, { STEWARD_RATE_LIMIT_API: "5" });
    try {
      const client = connect(ada!, app.url);
      for (let n = 0; n < 3; n++) expect(await run(client, "{ me { id } }")).to.not.have.property("errors");
      expect((await new HttpClient(app.url, ada!.token).get("/api/v2/groups")).status).to.equal(200);
      const invalid = await run(client, "{ nothing }").catch((errors: Error[]) => errors);
      expect(JSON.stringify(invalid)).to.include("BAD_USER_INPUT");
      const [refused] = (await run(client, "{ me { id } }").catch((errors: unknown) => errors)) as Error[];
      expect(refused).to.have.nested.property("extensions.code", "RATE_LIMITED");
      expect(refused).to.have.nested.property("extensions.retryAfter").that.is.within(1, 60);
      expect((await new HttpClient(app.url, ada!.token).get("/api/v2/groups")).status).to.equal(429);
    } finally {
      await app.close();
    }
  });

  describe("for a client that does not read", () => {
    const unreadBytes = async () =>
      Number(/^steward_unread_bytes (\d+)/m.exec(await (await fetch(`${w().url}/metrics`)).text())?.[1]);

    async function paused(person: Pick<Person, "token">) {
      const client = await bare();
      client.say(init(person.token));
      await eventually(() => client.messages.length === 1, "acknowledged");
      client.socket.pause();
      return client;
    }

    it("runs few operations before their results are read, and all of them once they are", async () => {
      const [ada] = await w().users("ada");
      const content = "x".repeat(64 * 1024);
      await deliver(w().app, ada!.id, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], { content });
      const { messages, say, socket } = await paused(ada!);
      const query = "{ inboxNotifications { nodes { content } } }";
      for (let id = 1; id <= 50; id++) say({ type: "subscribe", id: String(id), payload: { query } });
      const result = 10 * content.length;
      await eventually(async () => (await unreadBytes()) > 9 * result, "results wait", 20_000);
      for (let n = 0; n < 5; n++) await w().as(ada!).graphql(query);
      expect(await unreadBytes()).to.be.lessThan(11 * result);
      socket.resume();
      await eventually(() => messages.filter(({ type }) => type === "complete").length === 50, "all come", 20_000);
    });

    it("runs no pending operation once the client is gone", async () => {
      const [ada] = await w().users("ada");
      const content = "x".repeat(64 * 1024);
      await deliver(w().app, ada!.id, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"], { content });
      const { say, socket } = await paused(ada!);
      const query = "{ inboxNotifications { nodes { content } } }";
      const send = (title: string) =>
        `mutation { sendCustomNotification(input: { content: { title: "${title}" } }) { __typename } }`;
      for (let id = 1; id <= 20; id++) say({ type: "subscribe", id: String(id), payload: { query } });
      say({ type: "subscribe", id: "21", payload: { query: send("too late") } });
      await eventually(async () => (await unreadBytes()) > 9 * 10 * content.length, "results wait", 20_000);
      socket.terminate();
      await eventually(async () => (await unreadBytes()) === 0, "the client is gone");
      await w().as(ada!).graphql(send("in time"));
      const { inboxNotifications } = await w().as(ada!).graphql("{ inboxNotifications(first: 2) { nodes { title } } }");
      expect(inboxNotifications.nodes.map(({ title }: { title: string }) => title)).to.not.include("too late");
    });

    it("cuts the socket when too much output is pending, such as pongs", async () => {
      const { closed, say, socket } = await paused(w().owner);
      for (let n = 0; n < 600; n++) say({ type: "ping", payload: { padding: "x".repeat(64 * 1024) } });
      socket.on("error", () => {});
      await eventually(() => socket.bufferedAmount === 0 || socket.readyState > socket.OPEN, "all is sent", 20_000);
      socket.resume();
      expect((await closed)[0]).to.equal(1006);
      expect(await unreadBytes()).to.equal(0);
    });
  });

  it("stops a subscription as soon as the client does", async () => {
    const [ada] = await w().users("ada");
    const { messages, say } = await bare();
    say(init(ada!.token));
    const query = "subscription { inboxEvents { __typename } }";
    const begun = (id: string) =>
      eventually(() => messages.some((each) => each.id === id && each.type === "next"), `${id} has begun`);
    await eventually(() => messages.length === 1, "acknowledged");
    for (let n = 0; n < 60; n++) {
      // 20 concurrent subscriptions are allowed: stopped ones must not count.
      say({ type: "subscribe", id: String(n), payload: { query } });
      await begun(String(n));
      say({ type: "complete", id: String(n) });
    }
    expect(messages.filter(({ type, payload }) => type === "error" || payload?.errors)).to.deep.equal([]);
  });

  it("applies the same rules to documents as HTTP", async () => {
    const { messages, say, socket } = await bare();
    say(init(w().owner.token));
    await eventually(() => messages.length === 1, "acknowledged");
    const faults: Record<string, [string, RegExp]> = {
      syntax: ["{ me { ", /Syntax Error/],
      validity: ["{ nothing }", /Cannot query field/],
      aliases: [`{ ${Array.from({ length: 101 }, (_, n) => `a${n}: me { id }`).join(" ")} }`, /more than 100 aliases/],
      size: [`{ me { id } } #${"x".repeat(64 * 1024)}`, /larger than 65536 bytes/],
      variables: ["query($id: UUID!) { inboxNotification(id: $id) { id } }", /Validation failed/],
      operation: ["query A { me { id } } query B { me { id } }", /operation name/],
    };
    for (const [id, [query, message]] of Object.entries(faults)) {
      say({ type: "subscribe", id, payload: { query } });
      await eventually(() => messages.some((each) => each.id === id), id);
      const { type, payload } = messages.find((each) => each.id === id)!;
      expect(type, id).to.equal("error");
      expect(payload[0].message).to.match(message);
      expect(payload[0].extensions).to.include({ code: "BAD_USER_INPUT" }).and.to.have.property("requestId");
    }
    expect(socket.readyState).to.equal(WebSocket.OPEN);
  });

  it("checks the scope of an operation before its variables", async () => {
    const { createApiKey } = await w()
      .as(w().owner)
      .graphql(`mutation { createApiKey(input: { name: "narrow", scopes: ["group:read"] }) { token } }`);
    const { messages, say } = await bare();
    say(init(createApiKey.token));
    await eventually(() => messages.length === 1, "acknowledged");
    const query = "query($id: UUID!) { inboxNotification(id: $id) { id } }";
    say({ type: "subscribe", id: "narrow", payload: { query, variables: { id: 5 } } });
    await eventually(() => messages.length === 2, "answered");
    expect(messages[1]!.payload[0].extensions).to.deep.include({
      code: "FORBIDDEN",
      requiredScopes: ["inbox_notification:read"],
    });
  });

  it("hides the schema if so configured, and closes with 1012 when the server stops", async () => {
    const app = await startServer(w().database.url, { STEWARD_GRAPHQL_INTROSPECTION: "false" });
    let closed = 0;
    const client = connect(w().owner, app.url);
    client.on("closed", (event) => (closed = (event as { code: number }).code));
    const error = await run(client, "{ __schema { types { name } } }").catch((thrown: unknown) => thrown);
    expect(JSON.stringify(error)).to.match(/introspection/i);
    await app.close();
    await eventually(() => closed !== 0, "the socket is closed");
    expect(closed).to.equal(1012);
  });
});
