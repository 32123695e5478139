// Two replicas of Steward on the Postgres of `deploy/patroni`, which loses its leader, its standby, and its network.
import { expect } from "chai";
import { type App, startServer } from "../support/app.js";
import { Load } from "../support/load.js";
import { Patroni } from "../support/patroni.js";
import { eventually } from "../support/watchers.js";
import { startWorldOn, type World } from "../support/world.js";

/** Seconds after which a leader that is gone is replaced; the environment may set more. */
const ttl = Number(process.env.FAILOVER_TTL ?? 10);
const settings = { STEWARD_BUILTIN_DAEMON: "true" };

describe("two replicas on a Postgres with Patroni, under load", () => {
  let patroni: Patroni;
  let w: World | undefined;
  let other: App | undefined;

  before(async function () {
    const started = await Patroni.start(ttl);
    if (typeof started === "string") {
      console.warn(`Skipped, since the packages of Patroni cannot be had: ${started}`);
      this.skip();
    }
    patroni = started;
    w = await startWorldOn({ url: patroni.url, drop: async () => {} }, settings);
    other = await startServer(patroni.url, settings);
  });
  after(async () => {
    await other?.close();
    await w?.app.close();
    if (patroni) expect(await patroni.close(), "it ends by Ctrl-C").to.equal(0);
  });

  /** Runs the load, breaks the database in the middle of it, and checks what was acknowledged. */
  async function survive(what: string, fault: () => Promise<unknown>, isOver: (leader: string) => Promise<boolean>) {
    // Whichever node is lost, another one takes over, and a third one confirms its commits.
    await patroni.run("healthy");
    const leader = (await patroni.leader())!;
    const load = new Load(w!, [w!.app, other!]);
    await load.start();
    const since = performance.now();
    try {
      await fault();
      await eventually(() => isOver(leader), "the cluster has reacted", 60_000);
      await load.progress(performance.now());
    } finally {
      await load.stop();
    }
    const { outage, ...counts } = await load.check(since);
    const figures = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
    console.log(`      ${what}, ttl ${ttl} s: no writes for ${(outage / 1000).toFixed(1)} s; ${figures.join(", ")}`);
  }

  const hasNewLeader = async (before: string) => {
    const leader = await patroni.leader();
    return leader !== undefined && leader !== before;
  };

  it("lose nothing when the leader is switched", () =>
    survive("switchover", () => patroni.run("switchover"), hasNewLeader));

  it("lose nothing when the synchronous standby is cut off, and another one takes its place", async () => {
    const standbyOf = async () => (await patroni.nodes()).find(({ role }) => role === "sync_standby")?.name;
    let standby: string | undefined;
    const cut = async () => {
      standby = await standbyOf();
      await patroni.run("partition standby");
    };
    await survive("standby lost", cut, async () => ![undefined, standby].includes(await standbyOf()));
    await patroni.run("heal");
  });

  it("lose nothing when the leader is cut off from etcd and the standbys, but not from Steward", async () => {
    await survive("leader cut off", () => patroni.run("partition leader"), hasNewLeader);
    await patroni.run("heal");
  });

  it("lose nothing when the network of the leader is gone", async () => {
    await survive("network of the leader lost", () => patroni.run("partition leader all"), hasNewLeader);
    await patroni.run("heal");
  });

  it("lose nothing when the leader is killed, which then follows the new one", async () => {
    let killed = "";
    const kill = async () => {
      killed = (await patroni.leader())!;
      await patroni.run(`kill ${killed}`);
    };
    await survive("kill -9 of the leader", kill, hasNewLeader);
    await patroni.run(`start ${killed}`);
    await patroni.run("healthy");
  });
});
