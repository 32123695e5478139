// Looks inside: the bus carries hints between replicas, which no interface shows.
import { mock } from "node:test";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import { Client } from "pg";
import { connect as connectToNats, type NatsConnection } from "@nats-io/transport-node";
import { pino } from "pino";
import type { Events, Hint } from "../../../src/runtime/events.js";
import type { Channel } from "../../../src/infrastructure/events/channel.js";
import { InProcessEvents } from "../../../src/infrastructure/events/in-process-events.js";
import { NatsChannel, NatsEvents } from "../../../src/infrastructure/events/nats-events.js";
import { natsServers } from "../../../src/infrastructure/events/nats-url.js";
import { PostgresChannel, PostgresEvents } from "../../../src/infrastructure/events/postgres-events.js";
import { Wakeups } from "../../../src/domain/kernel/watching.js";
import { type App, logged, startServer } from "../../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../../support/cluster.js";
import { metric } from "../../support/metrics.js";
import { certificate, certificateKey } from "../../support/postgres-server.js";
import { type ServerProcess, spawnServer } from "../../support/process.js";
import { type Unpacked, unpackOrSkip } from "../../../tools/debian.js";
import { NatsServer, natsPackages } from "../../../tools/nats.js";
import { eventually } from "../../support/watchers.js";

/** Warnings of the replicas. */
const warnings: string[] = [];
const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(line) });

const hints = (count: number): Hint[] =>
  Array.from({ length: count }, (_, index) => ({ topic: "inbox", id: `n:${index}` }));

const nothing = () => {};

/** The deployment of the replicas. */
const deployment = "one";

/** The ids in the payloads. */
const named = (payloads: string[]) =>
  payloads.flatMap((payload) => (JSON.parse(payload) as string[][]).map(([, id]) => id));

/** Collects the hints of a whole topic. */
function listenerOf(events: Events, topic: Hint["topic"] = "inbox") {
  const listener = { ids: [] as string[], gaps: 0 };
  events.subscribeAll(
    topic,
    (id) => listener.ids.push(id),
    () => listener.gaps++,
  );
  return listener;
}

/** A carrier of hints between replicas, with the actions of the tests on it. */
interface Carrier {
  url: () => string;
  open: (url: string) => Events;
  /** A channel of its own, apart from the hints. */
  channel: () => Channel;
  /** Maximum size of a payload. */
  most: number;
  /** A URL at which nothing listens. */
  nowhere: string;
  /** Calls `onPayload` for each message of replicas with the text that it has. Returns what ends that. */
  observe: (onPayload: (payload: string) => void) => Promise<() => Promise<void>>;
  /** Sends texts as another replica would, together. */
  send: (...payloads: string[]) => Promise<unknown>;
  /** Ends the connections of all replicas. */
  cut: () => Promise<unknown>;
}

function postgresCarrier(): Carrier {
  let database: TestDatabase;
  let observer: Client;
  before(async () => {
    database = await createDatabase();
    observer = new Client(database.url);
    await observer.connect();
  });
  after(async () => {
    await observer.end();
    await database.drop();
  });
  return {
    url: () => database.url,
    open: (connectionString) => new PostgresEvents({ connectionString, log }),
    channel: () => new PostgresChannel(database.url, "steward_signs_of_life"),
    most: 7_000,
    nowhere: "postgres://postgres@127.0.0.1:1/none",
    observe: async (onPayload) => {
      const note = ({ payload = "" }: { payload?: string }) => onPayload(payload);
      await observer.query("listen steward_hints");
      observer.on("notification", note);
      return async () => {
        observer.off("notification", note);
        await observer.query("unlisten *");
      };
    },
    send: (...payloads) =>
      observer.query("select pg_notify('steward_hints', each) from unnest($1::text[]) each", [payloads]),
    cut: () =>
      observer.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'steward events' and datname = current_database()",
      ),
  };
}

function natsCarrier() {
  let program: Unpacked | undefined;
  let server: NatsServer;
  let observer: NatsConnection;
  before(async function () {
    program = await unpackOrSkip(this, natsPackages);
    server = await NatsServer.start(program);
    observer = await connectToNats({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 10 });
  });
  after(async () => {
    await observer?.close();
    await server?.kill();
    program?.remove();
  });
  let sent = 0;
  const subject = `steward.hints.${deployment}`;
  const raw = async (...texts: string[]) => {
    for (const text of texts) observer.publish(subject, text);
    await observer.flush();
  };
  const carrier: Carrier = {
    url: () => server.url,
    open: (url) => new NatsEvents({ url, log }),
    channel: () => new NatsChannel(natsServers(server.url)!, "steward.test"),
    most: 64 * 1024,
    nowhere: "nats://127.0.0.1:1",
    observe: async (onPayload) => {
      const subscription = observer.subscribe(subject, {
        callback: (_, message) => {
          // The id of the channel and the number of the message come first. Probes have nothing else.
          const payload = message.string().replace(/^\S+ \d+ /, "");
          if (payload !== "") onPayload(payload);
        },
      });
      await observer.flush();
      return async () => subscription.unsubscribe();
    },
    send: (...payloads) => raw(...payloads.map((payload) => `observer ${++sent} ${payload}`)),
    cut: async () => {
      const statuses = observer.status();
      await server.kill();
      await server.start();
      for await (const { type } of statuses) if (type === "reconnect") break;
    },
  };
  return { ...carrier, raw, program: () => program! };
}

/** How often hints were or may have been lost for a reason, by the counter of the metric. */
const gapsOf = ({ gaps }: Events, reason: string) =>
  [...gaps].find(({ labels }) => labels.reason === reason)?.count ?? 0;

describe("the event bus", () => {
  const open: Events[] = [];
  afterEach(() => Promise.all(open.splice(0).map((events) => events.close())));

  function kept<Bus extends Events>(events: Bus): Bus {
    open.push(events);
    return events;
  }

  /** Starts a replica that is listening. */
  async function connected(carrier: Carrier, url = carrier.url()): Promise<Events> {
    const events = kept(carrier.open(url));
    const { promise, resolve } = Promise.withResolvers<void>();
    const subscription = events.subscribeAll("auth", nothing, resolve);
    await events.start(deployment);
    await promise;
    expect(events.isConnected).to.equal(true);
    subscription.close();
    return events;
  }

  /** The behavior of every bus, from a publisher to a replica, which may be the publisher. */
  function delivers(way: string, buses: () => Promise<{ from: Events; to: Events }>): void {
    describe(way, () => {
      let from: Events;
      let to: Events;
      /** Waits until everything published so far has arrived. */
      async function arrival(): Promise<void> {
        const { promise, resolve } = Promise.withResolvers<void>();
        const subscription = to.subscribe("auth", "last", resolve);
        from.publish({ topic: "auth", id: "last" });
        await promise;
        subscription.close();
      }

      beforeEach(async () => {
        ({ from, to } = await buses());
      });

      it("notifies each subscriber of the topic and id once, and subscribers of the whole topic", async () => {
        const told: string[] = [];
        to.subscribe("inbox", "n:ada", () => told.push("ada's first"));
        to.subscribe("inbox", "n:ada", () => told.push("ada's second"));
        to.subscribe("inbox", "n:bob", () => told.push("bob's"));
        to.subscribe("auth", "n:ada", () => told.push("another topic's"));
        const all = listenerOf(to);
        from.publish({ topic: "inbox", id: "n:ada" }, { topic: "inbox", id: "n:eve" });
        await arrival();
        expect(told).to.deep.equal(["ada's first", "ada's second"]);
        expect(all).to.deep.equal({ ids: ["n:ada", "n:eve"], gaps: 0 });
      });

      it("preserves every character of an id", async () => {
        const ids = ["", " ", "inbox n:ada", `"'\\`, "\u0000\n", "ü😀", "__proto__", "x".repeat(128)];
        const all = listenerOf(to);
        from.publish(...ids.map((id) => ({ topic: "inbox", id }) as const));
        await arrival();
        expect(all.ids).to.deep.equal(ids);
      });

      it("stops notifying a subscription that is closed, even twice", async () => {
        const told: string[] = [];
        const closed = to.subscribe("inbox", "n:ada", () => told.push("closed"));
        to.subscribe("inbox", "n:ada", () => told.push("open"));
        closed.close();
        closed.close();
        expect(to.subscriptions).to.equal(1);
        from.publish({ topic: "inbox", id: "n:ada" });
        await arrival();
        expect(told).to.deep.equal(["open"]);
      });

      it("continues when a subscriber fails", async () => {
        to.subscribe("inbox", "n:ada", () => {
          throw new Error("A defect.");
        });
        const all = listenerOf(to);
        from.publish({ topic: "inbox", id: "n:ada" });
        await arrival();
        expect(all.ids).to.deep.equal(["n:ada"]);
      });

      it("is silent after it is closed", async () => {
        const all = listenerOf(to);
        await to.close();
        to.publish({ topic: "inbox", id: "n:ada" });
        expect(all).to.deep.equal({ ids: [], gaps: 0 });
        expect(to.subscriptions).to.equal(0);
      });
    });
  }

  delivers("in process", async () => {
    const events = kept(new InProcessEvents({ log }));
    return { from: events, to: events };
  });

  /** The behavior of a bus between replicas. */
  function replicates(carrier: Carrier): void {
    const replica = (url?: string) => connected(carrier, url);
    delivers("to the publisher", async () => {
      const events = await replica();
      return { from: events, to: events };
    });
    delivers("to another replica", async () => ({ from: await replica(), to: await replica() }));

    /** Returns the payloads that arrive from the start of `work` until `isEnough`. */
    async function payloads(work: () => void, isEnough: (seen: string[]) => boolean): Promise<string[]> {
      const seen: string[] = [];
      const end = await carrier.observe((payload) => seen.push(payload));
      work();
      await eventually(() => isEnough(seen), "the hints are sent");
      await end();
      return seen;
    }

    it("notifies subscribers of the publisher immediately, and not again when the hint comes back", async () => {
      const from = await replica();
      const to = await replica();
      to.subscribe("inbox", "question", () => to.publish({ topic: "inbox", id: "reply" }));
      const all = listenerOf(from);
      from.publish({ topic: "inbox", id: "question" });
      expect(all.ids).to.deep.equal(["question"]);
      await eventually(() => all.ids.includes("reply"), "the other replica replies");
      expect(all.ids).to.deep.equal(["question", "reply"]);
    });

    it("keeps payloads within their limit, and sends each of 5,000 hints once, in order", async () => {
      const from = await replica();
      const to = await replica();
      const all = listenerOf(to);
      const seen = await payloads(
        () => from.publish(...hints(5_000)),
        (soFar) => named(soFar).length >= 5_000,
      );
      for (const payload of seen) expect(Buffer.byteLength(payload)).to.be.at.most(carrier.most);
      expect(seen.length).to.be.within(2, 20);
      expect(named(seen)).to.deep.equal(hints(5_000).map(({ id }) => id));
      await eventually(() => all.ids.length === 5_000, "the other replica has them");
      expect(all).to.deep.equal({ ids: hints(5_000).map(({ id }) => id), gaps: 0 });
    });

    it("sends hints together, each once, that are published while a statement is running", async () => {
      const from = await replica();
      const publish = () => {
        for (let round = 0; round < 100; round++) from.publish({ topic: "inbox", id: "first" }, ...hints(10));
        from.publish({ topic: "inbox", id: "last" });
      };
      const seen = await payloads(publish, (soFar) => named(soFar).includes("last"));
      expect(seen).to.have.length(2);
      expect(named(seen.slice(1))).to.have.members(["first", ...hints(10).map(({ id }) => id), "last"]);
    });

    it("reports a gap to the others instead of sending too many hints, or one that is too long", async () => {
      const from = await replica();
      const to = await replica();
      const all = listenerOf(to);
      let own = 0;
      from.subscribe("inbox", "n:14999", () => own++);
      from.publish(...hints(15_000));
      await eventually(() => all.gaps === 1, "the other replica reports a gap");
      expect([all.ids.length, own]).to.deep.equal([0, 1]);
      from.publish({ topic: "inbox", id: "x".repeat(10_000) });
      await eventually(() => all.gaps === 2, "the other replica reports a gap");
      expect(gapsOf(from, "shed")).to.be.at.least(2);
      expect(gapsOf(to, "reported")).to.equal(2);
    });

    it("counts notifications that it cannot parse, reports a gap for many together, and logs one of them", async () => {
      const to = await replica();
      const all = listenerOf(to);
      const before = warnings.length;
      for (const payload of [" ", "{", "7", "[null]"]) await carrier.send(payload);
      // Postgres sends equal texts of a transaction once.
      await carrier.send(...Array.from({ length: 500 }, (_, nr) => `garbage ${nr}`));
      await carrier.send('[["inbox","n:ada"]]');
      await eventually(() => all.ids.includes("n:ada"), "it reads those after them", 20_000);
      expect(gapsOf(to, "unreadable")).to.equal(504);
      await delay(300);
      expect(all.gaps).to.be.within(1, 50);
      const unreadable = warnings.slice(before).filter((line) => line.includes("cannot be read"));
      expect(unreadable).to.have.length(1);
    });

    it("sends pending hints before it closes", async () => {
      const from = await replica();
      const to = await replica();
      const all = listenerOf(to);
      from.publish(...hints(5_000));
      await from.close();
      await eventually(() => all.ids.length === 5_000, "the other replica has them");
    });

    it("runs and closes without a server", async () => {
      const events = kept(carrier.open(carrier.nowhere));
      const all = listenerOf(events);
      await events.start(deployment);
      expect(events.isConnected).to.equal(false);
      events.publish({ topic: "inbox", id: "n:ada" });
      expect(all.ids).to.deep.equal(["n:ada"]);
      await events.close();
    });

    it("sends the hints of the time before its start", async () => {
      const all = listenerOf(await replica());
      const early = kept(carrier.open(carrier.url()));
      early.publish({ topic: "inbox", id: "n:ada" });
      await early.start(deployment);
      await eventually(() => all.ids.includes("n:ada"), "the other replica has it");
    });

    it("reconnects when its session is terminated, reports a gap, and sends pending hints", async () => {
      const one = await replica();
      const two = await replica();
      const ofOne = listenerOf(one);
      const ofTwo = listenerOf(two);
      await carrier.cut();
      await eventually(() => ofOne.gaps > 0 && ofTwo.gaps > 0, "both report a gap", 15_000);
      expect([gapsOf(one, "connected"), gapsOf(two, "connected")]).to.deep.equal([2, 2]);
      one.publish({ topic: "inbox", id: "n:ada" });
      two.publish({ topic: "inbox", id: "n:bob" });
      await eventually(() => ofOne.ids.includes("n:ada") && ofOne.ids.includes("n:bob"), "one receives both");
      await eventually(() => ofTwo.ids.includes("n:ada") && ofTwo.ids.includes("n:bob"), "two receives both");
    });

    it("reports each heartbeat of a connection, which resets the back-off of the next attempt to connect", async () => {
      const channel = carrier.channel();
      await channel.open(nothing, nothing);
      try {
        await new Promise<void>((resolve, reject) => void channel.watch(resolve).catch(reject));
      } finally {
        await channel.close();
      }
    });

    it("notices a connection that died silently", async () => {
      const wire = await Wire.to(carrier.url());
      try {
        const near = await replica();
        const far = await replica(wire.url);
        const all = listenerOf(far);
        wire.cut();
        far.publish({ topic: "inbox", id: "published meanwhile" });
        near.publish({ topic: "inbox", id: "lost" });
        const ofNear = listenerOf(near);
        await eventually(() => all.gaps > 0, "it reports a gap", 11_000);
        expect(all.ids).to.deep.equal(["published meanwhile"]);
        await eventually(() => ofNear.ids.length > 0, "the pending hint is sent");
        near.publish({ topic: "inbox", id: "heard" });
        await eventually(() => all.ids.includes("heard"), "it receives hints again");
      } finally {
        await wire.close();
      }
    });
  }

  describe("on Postgres", () => replicates(postgresCarrier()));

  describe("on NATS", () => {
    const carrier = natsCarrier();
    replicates(carrier);

    it("reports a gap if messages of another replica are missing, also if it sends nothing more", async () => {
      const to = await connected(carrier);
      const all = listenerOf(to);
      const message = (id: string) => JSON.stringify([["inbox", id]]);
      await carrier.raw("another 0 ");
      await carrier.raw(`another 1 ${message("first")}`);
      await carrier.raw("another 1 ");
      await eventually(() => all.ids.length === 1, "it arrives");
      expect(all.gaps).to.equal(0);
      await carrier.raw(`another 3 ${message("third")}`);
      await eventually(() => all.ids.length === 2, "it arrives");
      expect([all.gaps, gapsOf(to, "missed")]).to.deep.equal([1, 1]);
      await carrier.raw("another 4 ");
      await eventually(() => all.gaps === 2, "the probe shows that the fourth is missing");
      expect(all.ids).to.deep.equal(["first", "third"]);
    });

    it("signs in at a server, by a password or a token", async () => {
      const ways = [
        [["--user", "ada", "--pass", "s3cr%t"], "ada:s3cr%25t"],
        [["--auth", "t0ken"], "t0ken"],
      ] as const;
      for (const [words, user] of ways) {
        const server = await NatsServer.start(carrier.program(), ...words);
        try {
          await connected(carrier, server.url.replace("//", `//${user}@`));
          const stranger = kept(carrier.open(server.url));
          const failure = await stranger.start(deployment).catch((error: Error) => error.message);
          expect(failure).to.match(/^NATS rejects STEWARD_EVENTS_URL: .*authorization/i);
          await Promise.all(open.splice(0).map((events) => events.close()));
        } finally {
          await server.kill();
        }
      }
    });

    it("is named by one URL, or by those of a cluster", () => {
      expect(natsServers("nats://a:4223, nats://b")).to.deep.equal({ servers: ["a:4223", "b:4222"] });
      expect(natsServers("tls://ada:lovelace@a")).to.deep.equal({
        servers: ["a:4222"],
        user: "ada",
        pass: "lovelace",
        tls: {},
      });
      const invalid = ["", "a:4222", "http://a", "nats://", "nats://a,tls://b", "nats://a,nats://ada@b", "nats://a/b"];
      for (const text of [...invalid, "nats://a?b", "nats://%zz@a", "nats://a,"])
        expect(natsServers(text), text).to.equal(undefined);
    });
  });
});

/** A proxy to a server that can fall silent without closing its connections. Later connections get through. */
class Wire {
  isOpen = true;

  private constructor(
    readonly url: string,
    private readonly server: Server,
    private readonly sockets: Set<Socket>,
  ) {}

  static async to(target: string): Promise<Wire> {
    const { hostname, port } = new URL(target);
    const sockets = new Set<Socket>();
    let wire: Wire;
    const server = createServer((near) => {
      const far = connect(Number(port), hostname);
      near.pipe(far).pipe(near);
      for (const socket of [near, far]) {
        socket.on("error", nothing);
        sockets.add(socket);
      }
      if (!wire.isOpen) wire.end();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = new URL(target);
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return (wire = new Wire(url.href, server, sockets));
  }

  cut(): void {
    for (const socket of this.sockets) socket.unpipe().pause();
  }

  /** Ends all connections. While it is not open, later ones as well. */
  end(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  async close(): Promise<void> {
    this.end();
    this.server.close();
    await once(this.server, "close");
  }
}

describe("a server", () => {
  let program: Unpacked;
  let nats: NatsServer;
  let database: TestDatabase;
  before(async function () {
    database = await cloneDatabase();
    program = await unpackOrSkip(this, natsPackages);
    nats = await NatsServer.start(program);
  });
  after(async () => {
    await nats?.kill();
    program?.remove();
    await database.drop();
  });

  const deploymentOf = async (app: App) =>
    (await app.services.database.pool.query<{ id: string }>("select id from deployment")).rows[0]!.id;

  const stateOf = async ({ url }: Pick<App, "url">) => {
    const response = await fetch(`${url}/readyz`);
    return {
      status: response.status,
      body: await response.json(),
      gauge: await metric(url, "steward_events_connected"),
    };
  };
  const connectedState = { status: 200, body: { status: "ok" }, gauge: 1 };
  const lostState = { status: 200, body: { status: "ok", degraded: ["events"] }, gauge: 0 };
  const isIn = (app: App, state: object) => async () => JSON.stringify(await stateOf(app)) === JSON.stringify(state);

  for (const [name, setting, target] of [
    ["Postgres", "STEWARD_DATABASE_DIRECT_URL", () => database.url],
    ["NATS", "STEWARD_EVENTS_URL", () => nats.url],
  ] as const)
    it(`says while it does not hear other replicas over ${name}`, async () => {
      const wire = await Wire.to(target());
      const app = await startServer(database.url, { [setting]: wire.url });
      try {
        expect(await stateOf(app)).to.deep.equal(connectedState);
        wire.isOpen = false;
        wire.end();
        await eventually(isIn(app, lostState), "it says so", 15_000);
        wire.isOpen = true;
        await eventually(isIn(app, connectedState), "it is connected again", 15_000);
      } finally {
        await app.close();
        await wire.close();
      }
    });

  it("starts without NATS, which may come later", async () => {
    const wire = await Wire.to(nats.url);
    wire.isOpen = false;
    const app = await startServer(database.url, { STEWARD_EVENTS_URL: wire.url });
    try {
      expect(await stateOf(app)).to.deep.equal(lostState);
      wire.isOpen = true;
      await eventually(isIn(app, connectedState), "it is connected", 15_000);
    } finally {
      await app.close();
      await wire.close();
    }
  });

  it("speaks TLS with a NATS whose certificate it trusts, and nothing else if the URL is one of TLS", async () => {
    const guarded = await NatsServer.start(program, "--tls", "--tlscert", certificate, "--tlskey", certificateKey);
    // Without checks of the health, which would be among what is degraded.
    const settings = {
      STEWARD_DATABASE_URL: database.url,
      STEWARD_DATA_DIR: program.directory,
      STEWARD_HEALTH_INTERVAL: "0s",
    };
    const tls = ({ url }: NatsServer) => url.replace("nats://127.0.0.1", "tls://localhost");
    const spawned: ServerProcess[] = [];
    const spawn = async (changes: NodeJS.ProcessEnv) => {
      spawned.push(await spawnServer({ ...settings, ...changes }));
      return spawned.at(-1)!;
    };
    try {
      const trust = { NODE_EXTRA_CA_CERTS: certificate };
      const trusting = await spawn({ STEWARD_EVENTS_URL: tls(guarded), ...trust });
      const strange = await spawn({ STEWARD_EVENTS_URL: tls(guarded) });
      const open = await spawn({ STEWARD_EVENTS_URL: tls(nats), ...trust });
      expect(await stateOf(trusting)).to.deep.equal(connectedState);
      for (const each of [strange, open]) expect(await stateOf(each)).to.deep.equal(lostState);
      expect(strange.output()).to.match(/self-signed certificate/);
    } finally {
      for (const { child, ended } of spawned) {
        child.kill();
        await ended;
      }
      await guarded.kill();
    }
  });

  it("warns if the last server that started has another carrier", async () => {
    const apps: App[] = [];
    /** Returns the carriers in the warnings of a start. */
    const warned = async (settings: NodeJS.ProcessEnv) => {
      const count = logged.length;
      apps.push(await startServer(database.url, settings));
      const lines = logged.slice(count).filter(({ msg }) => String(msg).includes("do not hear each other"));
      return lines.map(({ former, carrier }) => [former, carrier]);
    };
    const onNats = { STEWARD_EVENTS_URL: nats.url };
    try {
      await warned({});
      expect(await warned({})).to.deep.equal([]);
      expect(await warned(onNats)).to.deep.equal([["postgres", "nats"]]);
      expect(await warned({ STEWARD_EVENTS_URL: `${nats.url},${nats.url}` })).to.deep.equal([]);
      expect(await warned({})).to.deep.equal([["nats", "postgres"]]);
    } finally {
      for (const app of apps) await app.close();
    }
  });

  it("hears the replicas of its own deployment only, if several share a NATS", async () => {
    const other = await createDatabase();
    const settings = { STEWARD_EVENTS_URL: nats.url };
    const apps: App[] = [];
    const intruder = await connectToNats({ servers: nats.url });
    try {
      for (const { url } of [database, database, other]) apps.push(await startServer(url, settings));
      const [from, to, stranger] = apps.map(({ services }) => services.events);
      const heard = listenerOf(to!);
      const overheard = listenerOf(stranger!);
      const gaps = [...to!.gaps, ...stranger!.gaps];
      for (const subject of ["steward.hints", "steward.hints.x", "steward"]) intruder.publish(subject, "garbage");
      await intruder.flush();
      from!.publish({ topic: "inbox", id: "n:ada" });
      await eventually(() => heard.ids.includes("n:ada"), "the replica hears it");
      // All that was sent before has arrived once this has.
      intruder.publish(`steward.hints.${await deploymentOf(apps[2]!)}`, 'another 1 [["inbox","n:bob"]]');
      await eventually(() => overheard.ids.includes("n:bob"), "the other deployment hears its own");
      expect([heard, overheard]).to.deep.equal([
        { ids: ["n:ada"], gaps: 0 },
        { ids: ["n:bob"], gaps: 0 },
      ]);
      expect([...to!.gaps, ...stranger!.gaps]).to.deep.equal(gaps);
    } finally {
      await intruder.close();
      for (const app of apps) await app.close();
      await other.drop();
    }
  });

  it("does not start if NATS rejects the user, or what it has to do", async () => {
    const grants = {
      strict: "",
      deaf: 'publish: "steward.hints.>", subscribe: "none"',
      mute: 'publish: "none", subscribe: "steward.hints.>"',
    };
    const users = Object.entries(grants).map(
      ([user, grant]) => `{ user: ${user}, password: secret${grant && `, permissions: { ${grant} }`} }`,
    );
    const file = join(program.directory, "users.conf");
    await writeFile(file, `authorization { users: [${users.join(", ")}] }`);
    const guarded = await NatsServer.start(program, "--config", file);
    try {
      for (const [user, reason] of [
        ["stranger", /authorization/i],
        ["deaf", /subscription/i],
        ["mute", /publish/i],
      ] as const) {
        const url = guarded.url.replace("//", `//${user}:secret@`);
        const starting = startServer(database.url, { STEWARD_EVENTS_URL: url });
        const message = await starting.then(
          (app) => app.close(),
          (error: Error) => error.message,
        );
        expect(message)
          .to.match(/^NATS rejects STEWARD_EVENTS_URL: /)
          .and.match(reason);
      }
    } finally {
      await guarded.kill();
    }
  });
});

/** Whether the promise has settled after everything that could settle it has run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.finally(() => (settled = true));
  await turn();
  return settled;
}

describe("wake-ups", () => {
  let events: InProcessEvents;
  let life: AbortController;
  beforeEach(() => {
    events = new InProcessEvents({ log });
    life = new AbortController();
  });

  const iterate = (...ids: string[]) => {
    const wakes = ids.map((id) => ({ topic: "inbox", id }) as const);
    return new Wakeups({ signal: life.signal, services: { events } }, wakes);
  };
  const hint = (id: string) => events.publish({ topic: "inbox", id });

  it("come immediately, then with each hint about one of the ids", async () => {
    const iterator = iterate("n:ada", "r:ada");
    expect(await iterator.next()).to.equal(true);
    for (const id of ["n:ada", "r:ada"]) {
      const next = iterator.next();
      hint("n:bob");
      expect(await isSettled(next)).to.equal(false);
      hint(id);
      expect(await next).to.equal(true);
    }
    life.abort();
  });

  it("come once for all hints that arrive during the work", async () => {
    const iterator = iterate("n:ada", "r:ada");
    await iterator.next();
    for (let count = 0; count < 3; count++) for (const id of ["n:ada", "r:ada"]) hint(id);
    expect(await iterator.next()).to.equal(true);
    const next = iterator.next();
    expect(await isSettled(next)).to.equal(false);
    life.abort();
    expect(await next).to.equal(false);
  });

  it("include a hint that arrives between the subscription and the first read", async () => {
    const iterator = iterate("n:ada");
    const first = iterator.next();
    hint("n:ada");
    expect(await first).to.equal(true);
    expect(await isSettled(iterator.next())).to.equal(true);
    life.abort();
  });

  it("end immediately when the signal is aborted, even before the start or with a wake-up due", async () => {
    const waiting = iterate("n:ada");
    const due = iterate("n:ada");
    await waiting.next();
    const next = waiting.next();
    life.abort();
    expect(await next).to.equal(false);
    expect(await due.next()).to.equal(false);
    expect(await iterate("n:ada").next()).to.equal(false);
    expect(events.subscriptions).to.equal(0);
  });

  it("leave no subscription behind when they end, and keep none of the waits", async () => {
    const iterator = iterate("n:ada", "r:ada");
    expect(events.subscriptions).to.equal(2);
    await iterator.next();
    const next = iterator.next();
    iterator.end();
    expect(await next).to.equal(false);
    expect(await iterator.next()).to.equal(false);
    expect(events.subscriptions).to.equal(0);
  });

  it("come once in 30 seconds without a hint", async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      const iterator = iterate("n:ada");
      await iterator.next();
      const first = iterator.next();
      let seconds = 0;
      for (; !(await isSettled(first)); seconds++) mock.timers.tick(1_000);
      expect(seconds).to.be.at.most(30);
      const next = iterator.next();
      mock.timers.tick(29_000);
      expect(await isSettled(next)).to.equal(false);
      mock.timers.tick(1_000);
      expect(await next).to.equal(true);
    } finally {
      life.abort();
      mock.timers.reset();
    }
  });
});
