// A thousand clients that do not read, on a server in a process of its own: its memory, and the effect on others.
import { get } from "node:http";
import { connect } from "node:net";
import { expect } from "chai";
import { WebSocket } from "ws";
import { deliver } from "../support/inbox.js";
import { metric } from "../support/metrics.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { enter } from "../support/stage.js";
import { Client, world } from "../support/world.js";

const watch = "/api/v2/notifications/inbox/watch";
const queryFor = (count: number) => `{ inboxNotifications(first: ${count}) { nodes { content } } }`;
const content = "x".repeat(64 * 1024);
const megabyte = 1024 ** 2;

describe("1,000 clients that do not read", () => {
  const the = world();
  const endings: Array<() => unknown> = [];
  let server: ServerProcess;

  before(async () => {
    // Without a bound, the buffered data would exceed this heap several times over.
    server = await spawnServer({
      STEWARD_DATABASE_URL: the().database.url,
      STEWARD_RATE_LIMIT_API: "0",
      NODE_OPTIONS: "--max-old-space-size=384",
    });
  });
  after(async () => {
    for (const end of endings) end();
    server.child.kill("SIGKILL");
    await server.ended;
  });

  /** Sends a request for a large response, and reads nothing. */
  function silentRequest(token: string): void {
    const { hostname, port } = new URL(server.url);
    const body = JSON.stringify({ query: queryFor(50) });
    const headers = ["Host: x", `Service-Session-Token: ${token}`, `Content-Length: ${body.length}`];
    const socket = connect(Number(port), hostname, () => {
      socket.write(["POST /graphql HTTP/1.1", "Content-Type: application/json", ...headers, "", body].join("\r\n"));
    });
    socket.on("error", () => {});
    endings.push(() => socket.destroy());
  }

  /** Opens an event stream, and reads nothing. */
  function silentEventSource(token: string): Promise<void> {
    const headers = { "Service-Session-Token": token, Accept: "text/event-stream" };
    return new Promise((resolve, reject) => {
      const request = get(server.url + watch, { headers, agent: false }, () => resolve());
      request.on("error", reject);
      endings.push(() => request.destroy());
    });
  }

  /** Opens a WebSocket, and reads nothing. */
  async function silentSocket(path: string, protocols: string[], token: string): Promise<WebSocket> {
    const socket = new WebSocket(server.url.replace("http", "ws") + path, protocols, {
      headers: { "Service-Session-Token": token },
    });
    socket.on("error", () => {});
    endings.push(() => socket.terminate());
    await new Promise((resolve) => socket.once("open", resolve));
    socket.pause();
    return socket;
  }

  /** Requests more on one socket than its buffers hold, and reads nothing. */
  async function silentGraphql(token: string): Promise<void> {
    const socket = await silentSocket("/graphql", ["graphql-transport-ws"], token);
    socket.resume();
    socket.send(JSON.stringify({ type: "connection_init" }));
    await new Promise((resolve) => socket.once("message", resolve));
    socket.pause();
    const payload = { query: queryFor(5) };
    for (let id = 0; id < 100; id++) socket.send(JSON.stringify({ type: "subscribe", id: String(id), payload }));
  }

  it("use a bounded, reported amount of memory while others are served", async () => {
    const people = await Promise.all(
      Array.from({ length: 46 }, async () => {
        const { client, stage } = await enter(the(), { roles: [] });
        return { id: stage.actor, token: client.token! };
      }),
    );
    const [reader] = people as [(typeof people)[number]];
    const titles = Array.from({ length: 50 }, (_, n) => `n${n}`);
    await deliver(the().app, reader.id, titles, { content });
    for (const { token } of people) {
      const streams = Array.from({ length: 10 }, () => [silentEventSource(token), silentSocket(watch, [], token)]);
      await Promise.all(streams.flat());
    }
    for (const { id } of people) await deliver(the().app, id, ["one", "two", "three"], { content });

    const peak = { unread: 0, resident: 0 };
    for (let n = 0; n < 40; n++) {
      silentRequest(reader.token);
      await silentGraphql(reader.token);
      expect((await fetch(`${server.url}/healthz`)).status).to.equal(200);
      peak.unread = Math.max(peak.unread, await metric(server.url, "steward_unread_bytes"));
      peak.resident = Math.max(peak.resident, await metric(server.url, "process_resident_memory_bytes"));
    }
    expect(peak.unread / megabyte).to.be.within(32, 64);
    expect(peak.resident / megabyte).to.be.lessThan(700);
    expect((await new Client(server.url, people[1]!.token).get("/api/v2/groups")).status).to.equal(200);
  });
});
