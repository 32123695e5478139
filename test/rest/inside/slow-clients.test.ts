// Slow clients, which could exhaust resources that other clients need.
// Looks inside: the limits of the listener are tried with small numbers.
import { expect } from "chai";
import { EventEmitter } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { createListener, hangUp, listen } from "../../../src/http/listener.js";
import { Unread } from "../../../src/http/slow-clients.js";
import { type App, startServer } from "../../support/app.js";
import { withClock } from "../../support/clock.js";
import { deliver } from "../../support/inbox.js";
import { metric } from "../../support/metrics.js";
import { pausedReaders } from "../../support/paused-readers.js";
import { rawRequest } from "../../support/raw.js";
import { eventually, transports } from "../../support/watchers.js";
import { Client, type Person, world } from "../../support/world.js";

/** A connection that sends text when told to, and records what it receives until it is closed. */
function connection(url: string, ...words: string[]) {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  const heard = { text: "", isClosed: false, say: (word: string) => socket.write(word) };
  socket.on("data", (data) => (heard.text += data.toString("latin1")));
  socket.on("error", () => {});
  socket.on("close", () => (heard.isClosed = true));
  socket.on("connect", () => words.forEach((word) => socket.write(word)));
  return heard;
}

/** A connection that sends text, and reads nothing until `rest` reads everything. */
function unread(url: string, ...words: string[]) {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname, () => words.forEach((word) => socket.write(word)));
  socket.on("error", () => {});
  const rest = async () => {
    let text = "";
    socket.on("data", (data) => (text += data.toString("latin1")));
    await new Promise((resolve) => socket.once("close", resolve));
    return text;
  };
  return { rest, close: () => socket.destroy() };
}

const unreadBytes = (url: string) => metric(url, "steward_unread_bytes");

/** A response size that overflows the socket buffers of the operating system. */
const notification = 64 * 1024;
const large = 100 * notification;

/** A request for a user's notifications; with enough of them, the response is large. */
const inbox = ({ token }: Pick<Person, "token">, close = true) => {
  const query = "{ inboxNotifications(first: 100) { nodes { content } } }";
  const body = JSON.stringify({ query });
  const head = ["POST /graphql HTTP/1.1", "Host: localhost", `Service-Session-Token: ${token}`];
  const rest = [
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    ...(close ? ["Connection: close"] : []),
  ];
  return [...head, ...rest, "", body].join("\r\n");
};

describe("slow clients", () => {
  it("have 10 seconds to send request headers, and 60 for the whole request", () => {
    const { headersTimeout, requestTimeout } = createListener();
    expect({ headersTimeout, requestTimeout }).to.deep.equal({ headersTimeout: 10_000, requestTimeout: 60_000 });
  });

  it("keep idle connections longer than nginx (60 s) and Caddy (2 min) do, and longer than headers may take", async () => {
    expect(createListener().keepAliveTimeout).to.equal(130_000);
    const server = createListener();
    server.headersTimeout = 1_000;
    server.on("request", (request, response) => request.on("end", () => response.end("done")).resume());
    const url = await listen(server, { host: "127.0.0.1", port: 0 });
    const get = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    try {
      const idle = connection(url, get);
      await eventually(() => idle.text.endsWith("done"), "the first response");
      expect(idle.text).to.match(/^Keep-Alive: timeout=130\r$/m);
      // The connections are looked through each second.
      await delay(2_200);
      idle.say(get);
      await eventually(() => idle.text.split("done").length === 3, "the second response");
      expect(idle.isClosed).to.equal(false);
      const closing = Date.now();
      hangUp(server);
      await eventually(() => idle.isClosed, "the idle connection is closed");
      expect(Date.now() - closing).to.be.below(1_000);
    } finally {
      hangUp(server);
    }
  });

  it("are disconnected when they exceed those limits, while other requests are served", async () => {
    const server = createListener();
    server.headersTimeout = 100;
    server.requestTimeout = 1_500;
    server.on("request", (request, response) => request.on("end", () => response.end("done")).resume());
    const url = await listen(server, { host: "127.0.0.1", port: 0 });
    try {
      const head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n";
      const silent = connection(url);
      const slowHead = connection(url, head);
      const slowBody = connection(url, head, "\r\n", "a");
      const dripping = setInterval(() => [slowHead.say("X-A: b\r\n"), slowBody.say("a")], 50);
      const closed = [silent, slowHead, slowBody];
      await eventually(() => closed.every(({ isClosed }) => isClosed), "slow connections are closed", 10_000);
      clearInterval(dripping);
      for (const { text } of [slowHead, slowBody]) expect(text).to.match(/^HTTP\/1\.1 408 /);
      // A request whose head takes longer than the limit, since the machine is busy, is rejected as well.
      const served = async () => (await (await fetch(url)).text()) === "done";
      await eventually(() => served().catch(() => false), "a request is served");
    } finally {
      hangUp(server);
    }
  });

  it("are cut off when they do not read the close frame either", async () => {
    const counter = new Unread({ perConnection: 100, inTotal: 100, timeout: 50, bytesPerSecond: 1_000_000 });
    let goodbyes = 0;
    const socket = Object.assign(new EventEmitter(), {
      writableLength: 10,
      bytesWritten: 10,
      destroyed: false,
      destroy: () => (socket.destroyed = true),
    });
    counter.wrote(socket as unknown as Socket, () => goodbyes++);
    await eventually(() => socket.destroyed, "the socket is destroyed");
    expect(goodbyes).to.equal(1);
    expect(counter.bytes).to.equal(0);
  });

  describe("of a running server", () => {
    const the = world();

    it("get 503 when their body exceeds the request timeout, while other requests are served", async () => {
      const app = await startServer(the().database.url, { STEWARD_REQUEST_TIMEOUT: "5s" });
      try {
        const headers = ["Content-Type: application/json", "Content-Length: 1000"];
        const slow = Array.from({ length: 50 }, () =>
          connection(app.url, rawRequest("POST /api/v2/users/login", headers, '{"email":')),
        );
        expect(await new Client(app.url).get("/readyz")).to.include({ status: 200 });
        await eventually(() => slow.every(({ text }) => text.startsWith("HTTP/1.1 503 ")), "all get a response");
        expect(slow[0]!.text).to.match(/^x-content-type-options: nosniff/im);
      } finally {
        await app.close();
      }
    });

    it("do not delay shutdown: requests not received by then are rejected", async () => {
      const app = await startServer(the().database.url);
      const body = JSON.stringify({ email: "nobody@example.com", password: "x".repeat(1000) });
      const head = ["POST /api/v2/users/login HTTP/1.1", "Host: localhost", "Content-Type: application/json"];
      const headers = [...head, `Content-Length: ${body.length}`, "Expect: 100-continue", "", ""].join("\r\n");
      const never = connection(app.url, headers);
      const inTime = connection(app.url, headers);
      await eventually(
        () => [never, inTime].every(({ text }) => text.includes("100 Continue")),
        "both requests have started",
      );
      await withClock(async (pass) => {
        const closed = app.close();
        never.say(body.slice(0, -1));
        inTime.say(body);
        await eventually(() => inTime.text.includes("HTTP/1.1 401 "), "the request that arrives gets its response");
        let isClosed = false;
        void closed.finally(() => (isClosed = true));
        // More than the time in which requests must arrive, which begins when the background work has ended.
        await eventually(() => {
          pass(100);
          return isClosed;
        }, "the server is closed");
        await closed;
      });
      await eventually(() => never.isClosed, "the connection of the other one is closed");
      const refusal = never.text.split("\r\n\r\n").slice(1).join("\r\n\r\n");
      expect(refusal).to.match(/^HTTP\/1\.1 503 /);
      expect(refusal).to.match(/^connection: close\r$/im);
      expect(refusal).to.include("The service is temporarily unavailable.");
      expect(inTime.text).to.include("HTTP/1.1 401 ");
    });

    describe("reading large responses", () => {
      let ada: Person;
      before(async () => {
        [ada] = (await the().users("ada")) as [Person];
        const content = "x".repeat(notification);
        await deliver(
          the().app,
          ada.id,
          Array.from({ length: 100 }, (_, n) => `n${n}`),
          { content },
        );
      });

      it("are cut off when they read nothing in time, and their buffers are freed", async () => {
        const app = await startServer(the().database.url, {}, { timeout: 6_000, bytesPerSecond: 64 * 1024 ** 2 });
        try {
          const silent = unread(app.url, inbox(ada));
          await eventually(async () => (await unreadBytes(app.url)) > 1024 ** 2, "a part is buffered");
          await eventually(async () => (await unreadBytes(app.url)) === 0, "the buffer is freed");
          const text = await silent.rest();
          expect(text).to.match(/^HTTP\/1\.1 200 /);
          expect(text.length).to.be.lessThan(large);
        } finally {
          await app.close();
        }
      });

      it("have more time for larger responses", async () => {
        const app = await startServer(the().database.url, {}, { timeout: 100, bytesPerSecond: 1024 });
        try {
          const slow = unread(app.url, inbox(ada));
          await eventually(async () => (await unreadBytes(app.url)) > 0, "a part is buffered");
          await delay(500);
          expect(await unreadBytes(app.url)).to.be.greaterThan(0);
          expect((await slow.rest()).length).to.be.greaterThan(large);
        } finally {
          await app.close();
        }
      });

      it("share a limit on buffered bytes, and the largest and oldest responses are cut off first", async () => {
        const inTotal = 24 * 1024 ** 2;
        const app = await startServer(the().database.url, {}, { inTotal });
        try {
          const some = Array.from({ length: 10 }, () => unread(app.url, inbox(ada)));
          await eventually(
            async () => (await metric(app.url, "steward_http_request_duration_seconds_count", "/graphql")) === 10,
            "all responses have started",
            30_000,
          );
          expect(await unreadBytes(app.url)).to.be.within(1, inTotal);
          expect((await unread(app.url, inbox(ada)).rest()).length, "a client that reads").to.be.greaterThan(large);
          const texts = await Promise.all(some.map(({ rest }) => rest()));
          const whole = texts.filter(({ length }) => length > large);
          expect(whole.length).to.be.within(1, 9);
        } finally {
          await app.close();
        }
      });

      it("that pipeline requests without reading are served one request at a time", async () => {
        const { url } = the();
        const route = (place: string) => metric(url, "steward_http_request_duration_seconds_count", place);
        const before = await route("/graphql");
        const pipelined = unread(url, ...Array.from({ length: 11 }, () => inbox(ada, false)), inbox(ada));
        await eventually(async () => (await unreadBytes(url)) > 0, "a part is buffered");
        for (let n = 0; n < 5; n++)
          await the().as(ada).graphql("{ inboxNotifications(first: 100) { nodes { content } } }");
        expect((await route("/graphql")) - before - 5).to.be.within(1, 2);
        const text = await pipelined.rest();
        expect(text.match(/HTTP\/1\.1 200 /g)).to.have.length(12);
        expect(text.length).to.be.greaterThan(12 * large);
      });
    });

    describe("reading streams", () => {
      const names = Object.keys(pausedReaders) as Array<keyof typeof pausedReaders>;
      let app: App;
      before(async () => {
        // The first reader must resume within this time after its socket was closed.
        app = await startServer(the().database.url, {}, { timeout: 15_000, bytesPerSecond: 64 * 1024 ** 2 });
      });
      after(() => app.close());

      /** Opens a reader with a user of its own on each transport, and counts the subscriptions that each holds. */
      async function fourReaders() {
        const { events } = app.services;
        const people = await the().users(...names);
        const idle = events.subscriptions;
        const readers = await Promise.all(names.map((name, n) => pausedReaders[name](app.url, people[n]!)));
        const each = (events.subscriptions - idle) / names.length;
        const remain = (count: number) =>
          eventually(() => events.subscriptions === idle + count * each, `${count} remain`, 60_000);
        return { people, readers, remain };
      }

      it("with a large backlog are dropped on all four transports, sockets with code 1013, and can resume", async () => {
        const { people, readers, remain } = await fourReaders();
        const content = "x".repeat(notification);
        const titles = Array.from({ length: 50 }, (_, n) => `n${n}`);
        for (let batch = 0; batch < 4; batch++)
          await Promise.all(people.map(({ id }) => deliver(app, id, titles, { content })));
        await remain(0);
        expect(await Promise.all(readers.map((reader) => reader.resume()))).to.deep.equal([1013, 0, 0, 1013]);
        for (const [n, name] of names.entries()) {
          const { seen } = readers[n]!;
          expect(seen.length, name).to.be.within(1, 199);
          const rest = await transports[name](app.url, people[n]!.token, { query: `?since=${seen.at(-1)}` });
          await eventually(() => seen.length + rest.items.length === 200, "the rest arrives", 20_000);
          expect(new Set([...seen, ...rest.items.map(({ id }) => id)]).size, name).to.equal(200);
          rest.close();
        }
        await eventually(async () => (await unreadBytes(app.url)) === 0, "nothing is buffered");
      });

      it("with a small backlog are closed with code 1013 on sockets, by pings, and catch up on the other transports", async () => {
        const { people, readers, remain } = await fourReaders();
        const tell = (...titles: string[]) => Promise.all(people.map(({ id }) => deliver(app, id, titles)));
        await tell("one", "two");
        await remain(2);
        const ended = readers.map((reader) => reader.resume());
        expect(await Promise.all([ended[0], ended[3]])).to.deep.equal([1013, 1013]);
        await tell("three");
        await eventually(() => readers[1]!.seen.length === 3 && readers[2]!.seen.length === 3, "the others catch up");
        expect(readers.map(({ seen }) => seen.length)).to.deep.equal([2, 3, 3, 2]);
      });
    });
  });
});
