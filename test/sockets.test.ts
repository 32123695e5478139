// Behavior that both kinds of WebSockets share, whatever they carry.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { mock } from "node:test";
import { expect } from "chai";
import { WebSocket } from "ws";
import { type App, startServer } from "./support/app.js";
import { deliver } from "./support/inbox.js";
import { eventually, transports } from "./support/watchers.js";
import { Client, type Person, world } from "./support/world.js";

const watch = "/api/v2/notifications/inbox/watch";

/** Opens each kind of socket, and waits until its session is authenticated. */
const kinds = {
  async "GraphQL sockets"(url: string, { token }: Person) {
    const socket = new WebSocket(`${url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: token } }));
    await once(socket, "message");
    return socket;
  },
  async "sockets of the live inbox"(url: string, { token }: Person) {
    const headers = { "Service-Session-Token": token };
    const socket = new WebSocket(url.replace("http", "ws") + watch, { headers });
    await once(socket, "open");
    return socket;
  },
};

describe("sockets", () => {
  const the = world();
  let app: App;
  let ada: Person;
  before(async () => {
    // Twice that must be more than this process, with clients and server, ever is without the processor.
    app = await startServer(the().database.url, {}, { timeout: 500 });
    ada = await the().user("ada");
  });
  after(() => app.close());
  afterEach(() => mock.restoreAll());

  for (const [name, open] of Object.entries(kinds)) {
    describe(name, () => {
      it("stay open while their clients respond to pings", async () => {
        const socket = await open(app.url, ada);
        let pings = 0;
        let isClosed = false;
        socket.on("ping", () => pings++);
        socket.on("close", () => (isClosed = true));
        await eventually(() => isClosed || pings === 6, "more pings than would be sent without a pong");
        expect(isClosed).to.equal(false);
        socket.close();
      });

      it("stop being pinged once closed, while others continue", async () => {
        const gone = await open(app.url, ada);
        const stays = await open(app.url, ada);
        gone.close();
        await once(gone, "close");
        // The server sees the close a little later than the client.
        await once(stays, "ping");
        const spy = mock.method(WebSocket.prototype, "ping");
        for (let count = 0; count < 2; count++) await once(stays, "ping");
        const { calls } = spy.mock;
        expect(calls).to.not.have.length(0);
        expect(calls.filter((call) => (call.this as WebSocket).readyState === WebSocket.CLOSED)).to.have.length(0);
        stays.close();
      });

      it("are closed with code 1009 when a message is too large, and the server stays up", async () => {
        const socket = await open(app.url, ada);
        socket.send("x".repeat(2 * 1024 ** 2));
        const [code] = (await once(socket, "close")) as [number];
        expect(code).to.equal(1009);
        expect((await new Client(app.url).get("/healthz")).status).to.equal(200);
      });

      it("stop watching their session when they close", async () => {
        const { credentials } = app.services;
        const start = credentials.watch.bind(credentials);
        let watched = 0;
        mock.method(credentials, "watch", (...args: Parameters<typeof start>) => {
          const stop = start(...args);
          watched++;
          return () => {
            watched--;
            stop();
          };
        });
        const socket = await open(app.url, ada);
        expect(watched).to.equal(1);
        socket.close();
        await eventually(() => watched === 0, "the session is no longer watched");
      });
    });
  }
});

describe("streams", () => {
  const the = world();

  it("release the abort listeners of each event they send", async () => {
    const ada = await the().user("ada");
    const watcher = await transports.SSE(the().url, ada.token);
    await eventually(() => watcher.unread.length === 1, "the stream has started");
    const added = mock.method(EventTarget.prototype, "addEventListener");
    const removed = mock.method(EventTarget.prototype, "removeEventListener");
    const times = ({ mock: { calls } }: typeof added | typeof removed, target: EventTarget) =>
      calls.filter((call) => call.this === target).length;
    try {
      await deliver(
        the().app,
        ada.id,
        Array.from({ length: 20 }, (_, n) => `n${n}`),
      );
      await eventually(() => watcher.items.length === 20, "the watcher gets all");
      // Only the stream's signal: background work of the process listens to others meanwhile.
      const signals = new Set(added.mock.calls.map((call) => call.this as EventTarget));
      const busy = [...signals].filter((target) => target instanceof AbortSignal && times(added, target) >= 20);
      expect(busy).to.have.length(1);
      const [signal] = busy as [EventTarget];
      await eventually(() => times(removed, signal) === times(added, signal), "no listener is left");
    } finally {
      mock.restoreAll();
      watcher.close();
    }
  });
});

describe("the sockets and streams of a user", () => {
  const the = world();
  const most = 3;
  let app: App;
  let ada: Person;
  let bea: Person;
  const open: WebSocket[] = [];
  const streams: AbortController[] = [];

  before(async () => {
    app = await startServer(the().database.url, { STEWARD_SOCKETS_PER_USER: String(most) });
  });
  after(() => app.close());
  let tests = 0;
  // Others in each test: the server may see the end of a socket later than its client.
  beforeEach(async () => {
    tests++;
    [ada, bea] = (await the().users(`ada-${tests}`, `bea-${tests}`)) as [Person, Person];
  });
  afterEach(() => {
    for (const socket of open.splice(0)) socket.terminate();
    for (const stream of streams.splice(0)) stream.abort();
  });

  const headers = ({ token }: Person) => ({ "Service-Session-Token": token });

  async function openStream(person: Person, accept: string): Promise<Response> {
    const stream = new AbortController();
    streams.push(stream);
    return fetch(app.url + watch, { headers: { ...headers(person), Accept: accept }, signal: stream.signal });
  }

  /** Status, headers, and body of an upgrade that is rejected, or 101. */
  async function upgrade(path: string, protocol: string[], person: Person) {
    const socket = new WebSocket(app.url.replace("http", "ws") + path, protocol, { headers: headers(person) });
    open.push(socket);
    const rejected = once(socket, "unexpected-response").then(([, response]) => response as IncomingMessage);
    const response = await Promise.race([once(socket, "open").then(() => undefined), rejected]);
    return { status: response?.statusCode ?? 101, headers: response?.headers, socket };
  }

  const overGraphql = (person: Person) => upgrade("/graphql", ["graphql-transport-ws"], person);
  const overRest = (person: Person) => upgrade(watch, [], person);

  /** Opens one of each kind. */
  async function fill(person: Person): Promise<void> {
    open.push(await kinds["GraphQL sockets"](app.url, person));
    expect((await overRest(person)).status).to.equal(101);
    expect((await openStream(person, "text/event-stream")).status).to.equal(200);
  }

  const rejected = (kind: string) =>
    eventually(async () => (await overGraphql(ada)).status === 429, `as many are open as may be, with ${kind}`);

  it("are limited together: a further upgrade or stream gets 429 with Retry-After", async () => {
    await fill(ada);
    for (const { status, headers: sent } of [await overGraphql(ada), await overRest(ada)])
      expect([status, sent!["retry-after"]]).to.deep.equal([429, "10"]);
    for (const accept of ["text/event-stream", "application/x-ndjson"]) {
      const response = await openStream(ada, accept);
      expect([response.status, response.headers.get("retry-after")]).to.deep.equal([429, "10"]);
      expect(await response.json()).to.include({
        message: "Too many requests.",
        detail: `A user can have at most ${most} open sockets and streams on a server.`,
      });
    }
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    expect(metrics).to.match(/^steward_rate_limit_rejections_total\{limit="sockets"\} 4$/m);
  });

  it("are limited where the first message tells the user: the socket is closed with 1013", async () => {
    await fill(ada);
    const socket = new WebSocket(`${app.url.replace("http", "ws")}/graphql`, "graphql-transport-ws");
    open.push(socket);
    await once(socket, "open");
    socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: ada.token } }));
    const [code, reason] = (await once(socket, "close")) as [number, Buffer];
    expect([code, String(reason)]).to.deep.equal([1013, "Too many connections"]);
  });

  it("leave others theirs, and their user all other requests", async () => {
    await fill(ada);
    await fill(bea);
    expect(
      (await new Client(app.url, ada.token).graphql("{ serverInfo { version } inboxNotifications { totalCount } }"))
        .inboxNotifications.totalCount,
    ).to.equal(0);
  });

  it("count until they are closed, also those that send no first message", async () => {
    const silent = [await overGraphql(ada), await overGraphql(ada), await overGraphql(ada)];
    expect(silent.map(({ status }) => status)).to.deep.equal([101, 101, 101]);
    await rejected("sockets without a first message");
    silent[0]!.socket.close();
    await eventually(async () => (await openStream(ada, "application/x-ndjson")).status === 200, "one is free again");
    await rejected("a stream");
    streams.splice(0).forEach((stream) => stream.abort());
    await eventually(async () => (await overRest(ada)).status === 101, "the stream is not counted any more");
    await rejected("a socket of REST");
  });

  it("count once if the upgrade and the first message have the credential", async () => {
    for (let each = 0; each < most; each++) {
      const { socket } = await overGraphql(ada);
      socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: ada.token } }));
      await once(socket, "message");
    }
    expect((await overGraphql(ada)).status).to.equal(429);
  });

  it("count for the user of the first message, if the upgrade has another credential", async () => {
    const { socket } = await overGraphql(bea);
    socket.send(JSON.stringify({ type: "connection_init", payload: { sessionToken: ada.token } }));
    await once(socket, "message");
    await fill(bea);
    // Those without a first message are closed after ten seconds.
    for (let each = 1; each < most; each++) open.push(await kinds["GraphQL sockets"](app.url, ada));
    expect((await overGraphql(ada)).status).to.equal(429);
  });
});
