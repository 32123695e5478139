// Looks inside: the table of the inboxes is locked, and the connections of the event bus are ended.
import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "chai";
import { WebSocket } from "ws";
import { firstMonthId, newId } from "../support/ids.js";
import { countWaiting } from "../support/locks.js";
import { type App, startServer } from "../support/app.js";
import { deliver, inboxOf } from "../support/inbox.js";
import { endConnections, lockTable } from "../support/tables.js";
import { eventually, transports, type Watcher } from "../support/watchers.js";
import { type Person, world } from "../support/world.js";

const inbox = "/api/v2/notifications/inbox";
const watch = `${inbox}/watch`;
const titles = ({ items }: Watcher) => items.map(({ title }) => title);

describe("the live inbox", () => {
  const the = world();
  let replica: App;
  const open: Watcher[] = [];
  /** The subscriptions of a server without watchers. */
  let idle: number;

  before(async () => {
    idle = the().app.services.events.subscriptions;
    replica = await startServer(the().database.url);
  });
  afterEach(() => {
    for (const watcher of open.splice(0)) watcher.close();
  });
  after(() => replica.close());

  const watching = async (name: keyof typeof transports, { token }: Person, query = "", url = the().url) => {
    const watcher = await transports[name](url, token, { query });
    open.push(watcher);
    return watcher;
  };

  for (const name of Object.keys(transports) as Array<keyof typeof transports>) {
    describe(`by ${name}`, () => {
      it("delivers notifications from another replica promptly, and only to their owner", async () => {
        const w = the();
        const [ada, bob] = await w.users("ada", "bob");
        await deliver(w.app, ada!.id, ["before"]);
        const hers = await watching(name, ada!, "", replica.url);
        const his = await watching(name, bob!, "", replica.url);
        expect(
          (await w.as(ada!).post("/api/v2/notifications/custom", { content: { title: "for ada" } })).status,
        ).to.equal(204);
        await eventually(() => hers.items.length === 1, "the watcher gets it");
        expect(hers.items[0]).to.include({ title: "for ada", unreadCount: 2 });

        await deliver(replica, bob!.id, ["for bob"]);
        await eventually(() => his.items.length === 1, "the other watcher gets it");
        expect([titles(hers), titles(his)]).to.deep.equal([["for ada"], ["for bob"]]);
      });

      it("resumes after a disconnect, with everything that concurrent writers sent, once and in order", async () => {
        const w = the();
        const [ada] = await w.users("ada");
        const first = await watching(name, ada!);
        await deliver(w.app, ada!.id, ["seen"]);
        await eventually(() => first.items.length === 1, "the watcher gets the first notification");
        const { id, cursor } = first.items[0]!;
        first.close();

        const missed = Array.from({ length: 150 }, (_, n) => `n${n}`);
        await Promise.all([deliver(w.app, ada!.id, missed.slice(0, 75)), deliver(replica, ada!.id, missed.slice(75))]);
        const again = await watching(name, ada!, `?since=${cursor ?? id}`, replica.url);
        await deliver(w.app, ada!.id, ["live"]);
        await eventually(() => again.items.length >= 151, "the watcher gets what it missed");
        await deliver(w.app, ada!.id, ["last"]);
        await eventually(() => titles(again).at(-1) === "last", "the watcher gets the last notification");

        const stored = await inboxOf(w, ada!);
        expect(again.items.map((item) => item.id)).to.deep.equal(stored.filter((each) => each !== id));
        expect(again.items).to.have.length(152);
      });

      it("renders plain text on request", async () => {
        const w = the();
        const [ada] = await w.users("ada");
        const plain = await watching(name, ada!, "?format=plaintext");
        const marked = await watching(name, ada!, "?format=markdown");
        await deliver(w.app, ada!.id, ["**Done**: [log](https://a.b/c)"]);
        await eventually(() => plain.items.length + marked.items.length === 2, "both watchers get it");
        expect(plain.items[0]).to.include({
          title: "Done: log (https://a.b/c)",
          content: "About Done: log (https://a.b/c)",
        });
        expect(marked.items[0]!.title).to.equal("**Done**: [log](https://a.b/c)");
      });

      it("filters by read status only when replaying", async () => {
        const w = the();
        const [ada] = await w.users("ada");
        const [read] = await deliver(w.app, ada!.id, ["read"]);
        await deliver(w.app, ada!.id, ["unread"]);
        await w.as(ada!).put(`${inbox}/${read}/read-status`, { is_read: true });
        const reads = await watching(name, ada!, "?since=0&read_status=read");
        const unreads = await watching(name, ada!, "?since=0&read_status=unread");
        await eventually(() => reads.items.length + unreads.items.length === 2, "both watchers get the replay");
        const [live] = await deliver(w.app, ada!.id, ["live"]);
        await eventually(() => unreads.items.length === 2, "the watcher gets the new notification");
        await w.as(ada!).put(`${inbox}/${live}/read-status`, { is_read: true });
        await deliver(w.app, ada!.id, ["end"]);
        await eventually(() => unreads.items.length === 3, "the watcher gets the last notification");
        expect([titles(reads), titles(unreads)]).to.deep.equal([["read"], ["unread", "live", "end"]]);
      });

      it("ends within 5 s of the session's end, with code 4403 on sockets", async () => {
        const w = the();
        const [ada] = await w.users("ada");
        const watcher = await watching(name, ada!, "", replica.url);
        await w.as(ada!).graphql("mutation { logout { __typename } }");
        let code: number | undefined;
        void watcher.ended.then((ended) => (code = ended));
        await eventually(() => code !== undefined, "the stream ends");
        expect(code).to.equal(name === "WebSocket" || name === "subscription" ? 4403 : 0);
      });

      it("delivers what was sent while the event bus was disconnected", async () => {
        const w = the();
        const [ada] = await w.users("ada");
        const watcher = await watching(name, ada!, "", replica.url);
        expect(await endConnections(w, "steward events")).to.equal(2);
        await deliver(w.app, ada!.id, ["in the gap"]);
        await eventually(() => watcher.items.length === 1, "the watcher gets it", 35_000);
        expect(titles(watcher)).to.deep.equal(["in the gap"]);
      });
    });
  }

  for (const name of ["SSE", "subscription"] as const) {
    it(`reports the unread count by ${name}, at the start and after each change`, async () => {
      const w = the();
      const [ada] = await w.users("ada");
      const [id] = await deliver(w.app, ada!.id, ["a", "b"]);
      const watcher = await watching(name, ada!, "", replica.url);
      await eventually(() => watcher.unread.length === 1, "the initial count");
      await w.as(ada!).put(`${inbox}/${id}/read-status`, { is_read: true });
      await eventually(() => watcher.unread.length === 2, "the count after marking one as read");
      await w.as(ada!).put(`${inbox}/${id}/read-status`, { is_read: true });
      await w.as(ada!).put(`${inbox}/mark-all-as-read`);
      await eventually(() => watcher.unread.length === 3, "the count after marking all as read");
      expect(watcher.unread).to.deep.equal([2, 1, 0]);
      expect(watcher.items).to.deep.equal([]);
    });
  }

  it("sends a watcher of read notifications no new ones, even if they are read before it queries", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    await deliver(w.app, ada!.id, ["unread"]);
    const watcher = await watching("SSE", ada!, "?read_status=read");
    await eventually(() => watcher.unread.length === 1, "the initial count");
    await w.app.services.database.pool.query(
      `with mine as (update inbox_cursors set last_seq = last_seq + 1 where user_id = $1 returning last_seq, epoch)
       insert into inbox_notifications
         (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at, read_at, epoch)
       select ${firstMonthId}, $1, last_seq, gen_random_uuid(), '{}', 'live', '', '', '[]', now(), now(), epoch from mine`,
      [ada!.id],
    );
    await deliver(w.app, ada!.id, ["end"]);
    await eventually(() => watcher.unread.length === 2, "the count after the last notification");
    expect(titles(watcher)).to.deep.equal([]);
  });

  it("resumes an event source from its Last-Event-ID, and ignores a malformed one", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const first = await watching("SSE", ada!);
    await deliver(w.app, ada!.id, ["a"]);
    await deliver(w.app, ada!.id, ["b"]);
    await eventually(() => first.items.length === 2, "the first watcher gets both");
    const resume = async (id: string, query = "") => {
      const watcher = await transports.SSE(w.url, ada!.token, { query, headers: { "Last-Event-ID": id } });
      open.push(watcher);
      return watcher;
    };
    const resumed = await resume(first.items[0]!.cursor!, "?since=0");
    const fresh = await resume("x; y");
    await deliver(w.app, ada!.id, ["c"]);
    await eventually(() => resumed.items.length + fresh.items.length === 3, "the others get the rest");
    expect([titles(resumed), titles(fresh)]).to.deep.equal([["b", "c"], ["c"]]);
    expect(resumed.items[0]!.cursor).to.equal(first.items[1]!.cursor);
  });

  it("releases everything for clients that disconnect before the stream starts", async () => {
    const w = the();
    const { events } = w.app.services;
    const [ada, bob] = await w.users("ada", "bob");
    await eventually(() => events.subscriptions === idle, "the watchers of earlier tests are gone");
    // Both are still being authenticated, each by a statement of its own.
    await lockTable(w, "users", async ({ awaited }) => {
      const caller = connect(Number(new URL(w.url).port), "127.0.0.1");
      const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
      const key = `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\n`;
      caller.write(`GET ${watch} HTTP/1.1\r\nHost: x\r\nService-Session-Token: ${ada!.token}\r\n${upgrade}${key}\r\n`);
      // One that comes at the same time is read by the same statement.
      await awaited(1);
      const aborted = new AbortController();
      const headers = { "Service-Session-Token": bob!.token };
      const lines = fetch(w.url + watch, { headers, signal: aborted.signal }).catch((error: Error) => error.name);
      await awaited(2);
      caller.destroy();
      aborted.abort();
      expect(await lines).to.equal("AbortError");
    });
    const { pool } = w.app.services.database;
    await eventually(async () => (await countWaiting(pool)) === 0, "the lock is released");

    const watchers = await Promise.all(Array.from({ length: 20 }, () => watching("NDJSON", ada!)));
    for (const watcher of watchers) watcher.close();
    await eventually(() => events.subscriptions === idle, "no subscription is left");
  });

  it("releases everything after a HEAD request on a half-open connection", async () => {
    const w = the();
    const { events } = w.app.services;
    const [ada] = await w.users("ada");
    await eventually(() => events.subscriptions === idle, "the watchers of earlier tests are gone");
    const caller = connect({ port: Number(new URL(w.url).port), host: "127.0.0.1", allowHalfOpen: true });
    const headers = ["Host: x", `Service-Session-Token: ${ada!.token}`, "Connection: Upgrade", "Upgrade: websocket"];
    caller.write([`HEAD ${watch} HTTP/1.1`, ...headers, "", ""].join("\r\n"));
    const [response] = (await once(caller, "data")) as [Buffer];
    expect(response.toString()).to.match(/^HTTP\/1\.1 200 /);
    await eventually(() => events.subscriptions === idle, "no subscription is left");
    caller.destroy();
  });

  it("sends blank lines between JSON lines to keep idle streams, but not with heartbeat=off", async () => {
    const ada = await the().user("ada");
    // A heartbeat each 100 ms instead of each 15 s.
    const server = await startServer(the().database.url, {}, { timeout: 200 });
    const aborted = new AbortController();
    /** The text that a stream sends until a notification, which comes when the others have had several heartbeats. */
    async function listen(query: string, accept: string): Promise<{ text: string; ended: Promise<void> }> {
      const response = await fetch(`${server.url}/api/v2/notifications/inbox/watch${query}`, {
        headers: { "Service-Session-Token": ada.token, Accept: accept },
        signal: aborted.signal,
      });
      expect(response.status).to.equal(200);
      const stream = { text: "", ended: Promise.resolve() };
      stream.ended = (async () => {
        for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
          stream.text += chunk;
          if (stream.text.includes("about the end")) return;
        }
      })();
      return stream;
    }
    try {
      const usual = await listen("", "application/x-ndjson");
      const silent = [
        await listen("?heartbeat=off", "application/x-ndjson"),
        await listen("?heartbeat=off&read_status=unread", "*/*"),
      ];
      const others = [
        await listen("?heartbeat=on", "application/x-ndjson"),
        await listen("?heartbeat=off", "text/event-stream"),
      ];
      await eventually(() => usual.text.split("\n").length > 4, "some heartbeats");
      await eventually(() => others.every(({ text }) => text.split("\n").length > 4), "those of others");
      await deliver(server, ada.id, ["about the end"]);
      await Promise.all([usual, ...silent, ...others].map(({ ended }) => ended));
      expect(usual.text).to.match(/^\n+\{/);
      // What readers that take each line for JSON need: `for line in response: json.loads(line)`.
      for (const { text } of silent) {
        const lines = text.replace(/\n$/, "").split("\n");
        expect(
          lines.map((line) => (JSON.parse(line) as { notification: { title: string } }).notification.title),
        ).to.deep.equal(["about the end"]);
      }
    } finally {
      aborted.abort();
      await server.close();
    }
  });

  it("responds to pings, but drops pongs that the client does not read", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const socket = new WebSocket(`${w.url.replace("http", "ws")}${watch}`, {
      headers: { "Service-Session-Token": ada!.token },
    });
    let pongs = 0;
    socket.on("pong", () => pongs++);
    await new Promise((resolve) => socket.once("open", resolve));
    socket.ping();
    await eventually(() => pongs === 1, "the pong arrives");

    const pings = 200_000;
    socket.pause();
    for (let n = 0; n < pings; n++) socket.ping("x".repeat(125));
    await eventually(() => socket.bufferedAmount === 0, "all pings are sent", 15_000);
    socket.resume();
    const last = await watching("NDJSON", ada!);
    const told = new Promise((resolve) => socket.once("message", resolve));
    await deliver(w.app, ada!.id, ["after the pings"]);
    await eventually(() => last.items.length === 1, "another watcher gets it");
    await told;
    expect(pongs).to.be.within(2, pings / 2);
    socket.close();
  });

  it("rejects invalid requests with a status, before the first byte or the upgrade", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    for (const query of ["since=x", `since=${newId()}`, "format=html", "targets=x", "read_status=maybe"]) {
      const { status, body } = await w.as(ada!).get(`${watch}?${query}`);
      expect([query, status, body.validations?.length]).to.deep.equal([query, 400, 1]);
      const refused = await transports
        .WebSocket(w.url, ada!.token, { query: `?${query}` })
        .catch((error: Error) => error.message);
      expect(refused).to.equal("Rejected with 400.");
    }
    expect((await w.nobody.get(watch)).status).to.equal(401);
    const anonymous = await transports.WebSocket(w.url, "", {}).catch((error: Error) => error.message);
    expect(anonymous).to.equal("Rejected with 401.");
  });

  it("allows a user 20 watches per replica, over all transports", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const names = Object.keys(transports) as Array<keyof typeof transports>;
    const watchers = await Promise.all(Array.from({ length: 20 }, (_, n) => watching(names[n % 4]!, ada!)));
    for (const name of names) {
      const refused = await watching(name, ada!).then(
        () => "accepted",
        (error: Error) => error.message,
      );
      expect(refused, name).to.match(/^Rejected with (429|.*RATE_LIMITED)/);
    }
    await watching("WebSocket", ada!, "", replica.url);
    await watching("WebSocket", bob!);
    for (const watcher of watchers.slice(0, 4)) watcher.close();
    let free = 0;
    await eventually(
      () =>
        watching("NDJSON", ada!).then(
          () => (free += 1) === 4,
          () => false,
        ),
      "the places of closed watches become free",
    );
    const more = await watching("NDJSON", ada!).then(
      () => "accepted",
      (error: Error) => error.message,
    );
    expect(more, "each closed watch frees exactly one place").to.equal("Rejected with 429.");
  });
});

describe("many watchers", () => {
  const the = world({ STEWARD_DATABASE_POOL: "12" });

  it("leave connections for other requests when all of them query together", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    // Watchers with the same filter read in one statement.
    const targets = Array.from({ length: 20 }, newId);
    const watchers = await Promise.all(
      targets.map((target) => transports.NDJSON(w.url, ada!.token, { query: `?targets=${target}` })),
    );
    await lockTable(w.database.url, "inbox_cursors", async ({ connection }) => {
      w.app.services.events.publish({ topic: "inbox", id: `n:${ada!.id}` });
      await eventually(async () => (await countWaiting(connection)) >= 4, "the queries wait for the lock");
      expect((await w.as(ada!).get("/api/v2/groups")).status).to.equal(200);
    });

    await deliver(w.app, ada!.id, ["told"], { targets });
    await eventually(() => watchers.every(({ items }) => items.length === 1), "all watchers get it");
    for (const watcher of watchers) watcher.close();
  });
});
