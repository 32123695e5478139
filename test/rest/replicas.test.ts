// Reaches for tables: the connections that carry hints are ended.
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { type Unpacked, unpackOrSkip } from "../../tools/debian.js";
import { deliver } from "../support/inbox.js";
import { metric } from "../support/metrics.js";
import { NatsServer, natsPackages } from "../../tools/nats.js";
import { eventually, holdsWithin, transports } from "../support/watchers.js";
import { countRows, endConnections } from "../support/tables.js";
import { Client, type Person, startWorld, type World } from "../support/world.js";

const names = Object.keys(transports) as Array<keyof typeof transports>;

/** The code with which each transport ends when its session ends. */
const sessionEnded = { WebSocket: 4403, SSE: 0, NDJSON: 0, subscription: 4403 };

/** Waits for all four streams to end, and checks their codes. */
async function streamsEnd(codes: object): Promise<void> {
  await eventually(() => Object.keys(codes).length === names.length, "all streams end", 5_000);
  expect(codes, JSON.stringify(codes)).to.deep.equal(sessionEnded);
}

/** A carrier of hints between replicas: their settings, and a function that disconnects both of them. */
interface Carrier {
  settings: () => NodeJS.ProcessEnv;
  cut: (w: World) => Promise<void>;
}

function postgresCarrier(): Carrier {
  return {
    settings: () => ({}),
    cut: async (w) => {
      expect(await endConnections(w, "steward events")).to.equal(2);
    },
  };
}

function natsCarrier(): Carrier {
  let program: Unpacked | undefined;
  let server: NatsServer | undefined;
  before(async function () {
    program = await unpackOrSkip(this, natsPackages);
    server = await NatsServer.start(program);
  });
  after(async () => {
    await server?.kill();
    program?.remove();
  });
  return {
    settings: () => ({ STEWARD_EVENTS_URL: server!.url }),
    cut: async (w) => {
      await server!.kill();
      await server!.start();
      const listening = { application_name: "steward events", datname: new URL(w.database.url).pathname.slice(1) };
      expect(await countRows(w, "pg_stat_activity", listening), "Postgres carries nothing").to.equal(0);
    },
  };
}

for (const [name, carried] of Object.entries({ Postgres: postgresCarrier, NATS: natsCarrier }))
  describe(`two replicas on one database, whose hints ${name} carries`, () => replicas(carried()));

function replicas(carrier: Carrier): void {
  let started: World | undefined;
  let other: App;
  const the = () => started!;
  before(async () => {
    started = await startWorld(carrier.settings());
    other = await startServer(the().database.url, carrier.settings());
  });
  after(async () => {
    await other?.close();
    await started?.close();
  });

  const there = ({ token }: Pick<Person, "token">) => new Client(other.url, token);

  /** Opens the user's four streams on the other replica; returns the codes of those that have ended. */
  async function streamsOf({ token }: Person) {
    const codes: Partial<Record<keyof typeof transports, number>> = {};
    await Promise.all(
      names.map(async (name) => {
        const { ended } = await transports[name](other.url, token);
        void ended.then((code) => (codes[name] = code));
      }),
    );
    return codes;
  }

  const signedOut = (person: Person) =>
    holdsWithin(
      1_000,
      async () => (await there(person).get("/api/v2/groups")).status === 401,
      "the session is rejected",
    );

  it("end a session on both when it is revoked on one, including its streams", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const hers = await streamsOf(ada!);
    const his = await streamsOf(bob!);
    const revoke = "mutation($id: String!) { revokeApiKey(input: { id: $id }) { __typename } }";
    await w.as(ada!).graphql(revoke, { id: ada!.token.split("_")[2]!.split("-")[0] });
    await signedOut(ada!);
    expect((await there(ada!).post("/graphql", { query: "{ me { id } }" })).status).to.equal(401);
    await streamsEnd(hers);
    expect(his, "the streams of others stay open").to.deep.equal({});
    expect((await there(bob!).get("/api/v2/groups")).status).to.equal(200);
  });

  it("sign a suspended user out on both", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const codes = await streamsOf(ada!);
    await w.as(w.owner).graphql("mutation($user: String!) { suspendUser(input: { user: $user }) { __typename } }", {
      user: ada!.id,
    });
    await signedOut(ada!);
    await streamsEnd(codes);
  });

  it("revoke a role on both", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const group = await w.group();
    let renamed = 0;
    const rename = async () =>
      (await there(ada!).patch(`/api/v2/groups/${group.id}`, { name: `g-${++renamed}` })).status;
    await w.grant(ada!, "user-admin");
    await holdsWithin(1_000, async () => (await rename()) === 200, "the role takes effect");
    await w.grant(ada!);
    await holdsWithin(1_000, async () => (await rename()) !== 200, "the role is revoked");
  });

  it("end a session in the same time while the event bus is disconnected", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const codes = await streamsOf(ada!);
    await carrier.cut(w);
    await w.as(ada!).graphql("mutation { logout { __typename } }");
    await signedOut(ada!);
    await streamsEnd(codes);
  });

  it("deliver what arrives on one to the inbox that is watched on the other one", async () => {
    const [ada] = await the().users("ada");
    const watchers = await Promise.all(names.map((name) => transports[name](other.url, ada!.token)));
    await deliver(the().app, ada!.id, ["one", "two", "three"]);
    await eventually(() => watchers.every(({ items }) => items.length === 3), "all of it arrives", 2_000);
    for (const watcher of watchers) watcher.close();
  });

  it("count the gaps of their messages", async () => {
    await eventually(
      async () => (await metric(other.url, "steward_event_gaps_total", "connected")) >= 2,
      "it has reconnected",
    );
  });
}
