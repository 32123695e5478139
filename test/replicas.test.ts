import { expect } from "chai";
import type { App } from "../src/app.js";
import { startServer } from "./support/app.js";
import { eventually, transports } from "./support/watchers.js";
import { Client, type Person, world } from "./support/world.js";

const names = Object.keys(transports) as Array<keyof typeof transports>;

/** The code with which each transport ends when its session ends. */
const sessionEnded = { WebSocket: 4403, SSE: 0, NDJSON: 0, subscription: 4403 };

/** Waits for all four streams to end, and checks their codes. */
async function streamsEnd(codes: object): Promise<void> {
  await eventually(() => Object.keys(codes).length === names.length, "all streams end", 5_000);
  expect(codes).to.deep.equal(sessionEnded);
}

describe("two replicas on one database", () => {
  const the = world();
  let other: App;
  before(async () => {
    other = await startServer(the().database.url);
  });
  after(() => other.close());

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
    eventually(
      async () => (await there(person).get("/api/v2/groups")).status === 401,
      "the session is rejected",
      1_000,
    );

  /** Cuts the connections over which replicas notify each other of changes; both reconnect within moments. */
  const cutTheBus = async () => {
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'steward events'`;
    expect((await the().app.services.database.pool.query(cut)).rowCount).to.equal(2);
  };

  it("end a session on both when it is revoked on one, including its streams", async () => {
    const w = the();
    const [ada, bob] = await w.users("ada", "bob");
    const [hers, his] = [await streamsOf(ada!), await streamsOf(bob!)];
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
    await eventually(async () => (await rename()) === 200, "the role takes effect", 1_000);
    await w.grant(ada!);
    await eventually(async () => (await rename()) !== 200, "the role is revoked", 1_000);
  });

  it("end a session in the same time while the event bus is disconnected", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    const codes = await streamsOf(ada!);
    await cutTheBus();
    await w.as(ada!).graphql("mutation { logout { __typename } }");
    await signedOut(ada!);
    await streamsEnd(codes);
  });
});
