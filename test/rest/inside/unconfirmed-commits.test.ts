// Commits about which the server that made them says more than will be true once another one has taken over.
// Looks inside: Postgres waits for a standby that does not exist.
import { expect } from "chai";
import { cutOff } from "../../support/cut-off.js";
import { PostgresServer } from "../../support/postgres-server.js";
import { eventually } from "../../support/watchers.js";
import { type Answer, startWorldOn, type World } from "../../support/world.js";

const create = (w: World, name: string) => w.as(w.owner).post("/api/v2/organizations/default/groups", { name });

function expectUnknown({ status, body }: Answer): void {
  expect(`${status} ${body.detail}`).to.match(/^503 It is not known whether the request was carried out/);
}

const start = (url: string, settings: NodeJS.ProcessEnv = {}) => startWorldOn({ url, drop: async () => {} }, settings);

describe("a commit that no standby has confirmed", () => {
  let server: PostgresServer;
  let w: World;

  before(async () => {
    server = await PostgresServer.create();
    await server.start();
    // The confirmation must not depend on what an operator has set on the database.
    for (const setting of ["client_min_messages to error", "synchronous_commit to local"])
      await server.query(`alter database postgres set ${setting}`);
    // A commit that waits takes all of this time; others must succeed within it.
    w = await start(server.url(), { STEWARD_REQUEST_TIMEOUT: "8s" });
  });
  after(async () => {
    await w?.app.close();
    await server?.remove();
  });

  beforeEach(async () => {
    expect((await create(w, `alone-${Date.now()}`)).status).to.equal(201);
    await server.query("alter system set synchronous_standby_names = 'missing'");
    await server.query("select pg_reload_conf()");
    await eventually(waitsForStandby, "the server waits for a standby");
  });
  afterEach(async () => {
    await server.query("alter system reset synchronous_standby_names");
    await server.query("select pg_reload_conf()");
    const again = async () => (await create(w, `confirmed-${Date.now()}`)).status === 201;
    await eventually(again, "writes succeed again", 20_000);
  });

  /** Whether a commit waits. Sessions read a setting before the process does that tells them to wait. */
  async function waitsForStandby(): Promise<boolean> {
    const commit = "begin; set local synchronous_commit to on; comment on database postgres is 'tried'; commit";
    const end = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'";
    const ended = server.query(commit).then(() => true);
    for (let hasWaited = false; ;) {
      const found = server.query(end).then(({ length }) => length > 0);
      const isOver = await Promise.race([ended, found.then(() => false)]);
      hasWaited ||= await found;
      if (isOver) return hasWaited;
    }
  }

  it("is not acknowledged if none does in time, while reads succeed", async () => {
    expectUnknown(await create(w, "late"));
    expect((await w.as(w.owner).get("/api/v2/groups")).status).to.equal(200);
  });

  for (const end of ["pg_cancel_backend", "pg_terminate_backend"])
    it(`is not acknowledged if the server stops waiting by ${end}`, async () => {
      const answer = create(w, end.replaceAll("_", "-"));
      // Other transactions, such as those of background tasks, wait as well.
      const mine = `select ${end}(pid) from pg_stat_activity where wait_event = 'SyncRep'`;
      let isOver = false;
      void answer.finally(() => (isOver = true));
      await eventually(async () => (await server.query(mine)).length === 0 && isOver, "it is over", 20_000);
      expectUnknown(await answer);
    });
});

describe("a commit whose response is lost", () => {
  it("is not acknowledged because the next server has given its ID to another transaction", async () => {
    const server = await PostgresServer.create();
    await server.start();
    await (await start(server.url())).app.close();
    await server.stop();
    // Stands for a standby that takes over without the last transactions, and makes others.
    const next = await server.copy();
    try {
      await Promise.all([server.start(), next.start()]);
      const [first] = await server.query<{ id: string }>("select pg_current_xact_id()::text as id");
      await next.query(
        `do $$ begin while pg_current_xact_id()::text::bigint < ${first!.id} + 1000 loop commit; end loop; end $$`,
      );
      const way = await cutOff(server.url());
      const w = await start(server.url("", `${new URL(way.url).host},127.0.0.1:${next.port}`));
      way.loseResponseTo({ commitOf: "of-lost-response" }, 60_000);
      const answer = await create(w, "of-lost-response");
      const wasCut = way.disarm();
      await w.app.close();
      await way.close();
      expect(wasCut).to.equal(true);
      expectUnknown(answer);
    } finally {
      await next.stop();
      await server.remove();
    }
  });
});
