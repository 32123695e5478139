// Behavior that both kinds of WebSockets share, whatever they carry.
import { once } from "node:events";
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
        const [gone, stays] = [await open(app.url, ada), await open(app.url, ada)];
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
