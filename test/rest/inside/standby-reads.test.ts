// Reads from a standby that streams from its primary, both started by the tests.
// Looks inside: runs reads of its own on the standby, to see where they run and to have them canceled.
import { expect } from "chai";
import { sql } from "kysely";
import { unpackOrSkip } from "../../../tools/debian.js";
import type { Context } from "../../../src/domain/kernel/context.js";
import { loggedFromInfo, startServer, systemContext } from "../../support/app.js";
import { cloneDatabase } from "../../support/cluster.js";
import { type CutOff, cutOff } from "../../support/cut-off.js";
import { metric } from "../../support/metrics.js";
import { oldPgBouncer, PgBouncer } from "../../support/pgbouncer.js";
import { freePort } from "../../support/ports.js";
import { PostgresServer } from "../../support/postgres-server.js";
import { eventually, slowness } from "../../support/watchers.js";
import { startWorldOn, type World } from "../../support/world.js";

const auditEvents = `query($filter: AuditEventFilter) {
  auditEvents(filter: $filter, first: 10) { totalCount nodes { resourceId } } }`;

/** The number of reads by server and reason. */
const reads = ({ url }: World["app"], server: "primary" | "standby", reason = "") =>
  metric(url, "steward_standby_reads_total", `server="${server}",reason="${reason}`);

const readiness = async ({ url }: World["app"]) => (await fetch(`${url}/readyz`)).json();

/** Returns the log lines about the standby that appear while `work` runs. */
async function saidDuring(work: () => Promise<unknown>): Promise<string[]> {
  const before = loggedFromInfo.length;
  await work();
  const lines = loggedFromInfo.slice(before).map(({ msg, reason }) => `${msg as string} ${(reason as string) ?? ""}`);
  return lines.filter((line) => line.includes("standby"));
}

/** Creates a group, and returns the number of its events in the audit log. */
async function eventsOfNewGroup(w: World, name: string, reader = w): Promise<number> {
  const { id } = await w.group(name);
  return (await reader.as(w.owner).graphql(auditEvents, { filter: { resourceId: id } })).auditEvents.nodes.length;
}

/** Waits until a standby serves reads of the audit log. */
const served = (w: World, app = w.app) =>
  eventually(
    async () => {
      const before = await reads(app, "standby");
      await w.as(w.owner).graphql(auditEvents);
      return (await reads(app, "standby")) > before;
    },
    "the standby serves reads",
    30_000,
  );

const isStandby = ({ db }: Context) =>
  sql<{ is: boolean }>`select pg_is_in_recovery() as "is"`.execute(db).then(({ rows }) => rows[0]!.is);

describe("reads from a standby", () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let second: PostgresServer;
  let way: CutOff;
  let w: World;
  let another: World;
  let names = 0;

  const access = ["all", "replication"].map((what) => `host ${what} all all scram-sha-256`).join("\n");
  /** The URL of the role that owns the database of Steward, and is no superuser. */
  const appUrl = (server: PostgresServer, database = "app") => {
    const { host } = new URL(server.url());
    return `postgres://app:secret@${host}/${database}`;
  };
  // As the primary had when it was created: a standby that has fewer does not start.
  const connections = { max_connections: "200" };
  const followPrimary = (server: PostgresServer) => {
    const { port, username, password } = new URL(primary.url());
    const source = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
    return server.start({
      access,
      standby: true,
      settings: {
        ...connections,
        primary_conninfo: source,
        max_standby_streaming_delay: "100ms",
        wal_retrieve_retry_interval: "100ms",
      },
    });
  };
  const has = (server: PostgresServer, statement: string) => async () => (await server.query(statement)).length > 0;
  const nextName = () => `standby-${++names}`;

  before(async () => {
    primary = await PostgresServer.create();
    standby = await primary.copy();
    second = await standby.copy();
    await primary.start({ access, settings: { ...connections, wal_keep_size: "512MB" } });
    await primary.query("create role app login password 'secret'");
    await primary.query("create database app owner app");
    await primary.query("create database other owner app");
    await Promise.all([followPrimary(standby), followPrimary(second)]);
    await eventually(has(standby, "select from pg_database where datname = 'other'"), "the standby follows", 20_000);
    way = await cutOff(appUrl(standby));
    const database = { url: appUrl(primary), drop: async () => {} };
    w = await startWorldOn(database, { STEWARD_DATABASE_READ_URL: way.url });
    another = await startWorldOn(database, { STEWARD_DATABASE_READ_URL: way.url });
  });
  after(async () => {
    await Promise.all([w?.app.close(), another?.app.close()]);
    await way?.close();
    await Promise.all([standby?.stop(), second?.stop()]);
    await primary?.remove();
  });

  it("serve the audit log, the connection log, the delivery log, and daily counts, with their numbers of rows", async () => {
    await served(w);
    // The number of a page that is empty is known.
    for (const [query, statements] of [
      ["{ auditEvents(first: 1) { nodes { id } totalCount } }", 2],
      ["{ connectionLogs(first: 1) { nodes { id } totalCount } }", 1],
      ["{ notificationMessages(first: 1) { nodes { id } totalCount } }", 1],
      // The third read finds out until when counts are stored.
      ["{ dailyCounts(days: 1) { createdUsers signIns } }", 3],
    ] as const)
      await eventually(
        async () => {
          const before = await reads(w.app, "standby", "up_to_date");
          await w.as(w.owner).graphql(query);
          return (await reads(w.app, "standby", "up_to_date")) === before + statements;
        },
        query,
        30_000,
      );
    const before = [await reads(w.app, "standby"), await reads(w.app, "primary")];
    await w.as(w.owner).graphql("{ users { totalCount nodes { id } } groups { nodes { id } } }");
    expect([await reads(w.app, "standby"), await reads(w.app, "primary")]).to.deep.equal(before);
  });

  it("run on the standby, but inside a mutation in its transaction", async () => {
    await served(w);
    const ctx = systemContext(w.app);
    await eventually(() => ctx.readOnStandby(isStandby), "it runs on the standby", 30_000);
    expect(await isStandby(ctx)).to.equal(false);
    const writer = systemContext(w.app);
    expect(await writer.transactional(() => writer.readOnStandby(isStandby))).to.equal(false);
    let failure: unknown;
    const hasFailed = async () => {
      failure = await ctx
        .readOnStandby(async (reading) => (await isStandby(reading)) && sql`create table mine ()`.execute(reading.db))
        .catch(({ code }) => code);
      return failure !== false;
    };
    await eventually(hasFailed, "a statement that writes runs on the standby", 30_000);
    expect(failure).to.equal("25006");
  });

  it("find what was written immediately before, by the same server and by another one", async () => {
    await Promise.all([served(w), served(another)]);
    const onStandby = async () => (await reads(w.app, "standby")) + (await reads(another.app, "standby"));
    const before = await onStandby();
    // On a busy machine, the standby may be late in the first ones.
    for (let round = 0; round < 20 || (await onStandby()) === before; round++) {
      expect(await eventsOfNewGroup(w, nextName())).to.equal(1);
      expect(await eventsOfNewGroup(w, nextName(), another)).to.equal(1);
    }
    expect(await onStandby()).to.be.greaterThan(before);
  });

  it("run on the primary while the standby is behind, and on the standby again later", async () => {
    // The other server logs to the same place that it uses the standby again.
    await Promise.all([served(w), served(another)]);
    const said = await saidDuring(async () => {
      await standby.query("select pg_wal_replay_pause()");
      try {
        const late = await reads(w.app, "primary", "late");
        expect(await eventsOfNewGroup(w, nextName())).to.equal(1);
        expect(await reads(w.app, "primary", "late")).to.equal(late + 1);
        expect(await readiness(w.app)).to.deep.equal({ status: "ok", degraded: ["standby"] });
        const times: number[] = [];
        const skipped = await reads(w.app, "primary", "given_up");
        for (let round = 0; round < 10; round++) {
          const before = performance.now();
          await w.as(w.owner).graphql(auditEvents);
          times.push(performance.now() - before);
        }
        expect(await reads(w.app, "primary", "given_up")).to.be.greaterThan(skipped + 9);
        // Each would take 250 ms if it waited. A few may take longer while the machine does something else.
        expect(times.toSorted((one, other) => one - other)[5]).to.be.lessThan(200 * slowness());
      } finally {
        await standby.query("select pg_wal_replay_resume()");
      }
      await served(w);
    });
    // On a busy machine, it may be late again afterwards.
    expect(said.slice(0, 2).map((line) => line.replace(/ It did not .*/, ""))).to.deep.equal([
      "The standby is not used; its reads run on the primary.",
      "The standby is used again. ",
    ]);
    const isReady = async () => JSON.stringify(await readiness(w.app)) === '{"status":"ok"}';
    await eventually(isReady, "nothing is degraded", 30_000);
  });

  it("run on the primary if the standby cancels them for a change of the primary, and stay with the standby", async () => {
    await served(w);
    await primary.query("create table scratch ()", appUrl(primary));
    const scratch = () => standby.query("select from pg_class where relname = 'scratch'", appUrl(standby));
    await eventually(async () => (await scratch()).length > 0, "the standby has the table");
    const before = await reads(w.app, "primary", "canceled");
    const begin = () => {
      const attempts: boolean[] = [];
      const reading = systemContext(w.app).readOnStandby(async (ctx) => {
        attempts.push(await isStandby(ctx));
        if (attempts.at(-1)) await sql`select count(*) from scratch, pg_sleep(60)`.execute(ctx.db);
        return "read";
      });
      return { attempts, reading };
    };
    let begun = begin();
    const sleeps = has(standby, "select from pg_stat_activity where wait_event = 'PgSleep'");
    const isReading = () => {
      // The standby was late.
      if (begun.attempts[0] === false) begun = begin();
      return sleeps();
    };
    await eventually(isReading, "it reads", 30_000);
    await primary.query("drop table scratch", appUrl(primary));
    expect(await begun.reading).to.equal("read");
    expect(begun.attempts).to.deep.equal([true, false]);
    expect(await reads(w.app, "primary", "canceled")).to.equal(before + 1);
    expect(await readiness(w.app)).to.deep.equal({ status: "ok" });
  });

  it("fail as on the primary if they are at fault themselves", async () => {
    await served(w);
    let attempts = 0;
    const failing = systemContext(w.app).readOnStandby(({ db }) => {
      attempts++;
      return sql`select 1 / 0`.execute(db);
    });
    expect(await failing.catch(({ code }) => code)).to.equal("22012");
    expect(attempts).to.equal(1);
  });

  it("are not repeated on the primary if they were ended there because they took too long", async () => {
    await served(w);
    const attempts: boolean[] = [];
    const reading = systemContext(w.app)
      .readOnStandby(async (ctx) => {
        attempts.push(await isStandby(ctx));
        await sql`set local statement_timeout = '100ms'`.execute(ctx.db);
        return sql`select pg_sleep(60)`.execute(ctx.db);
      })
      .catch(({ code }) => code as string);
    expect(await reading).to.equal("57014");
    expect(attempts).to.have.length(1);
  });

  it("do not wait for a network that loses all packets", async () => {
    await served(w);
    way.swallow();
    try {
      const late = await reads(w.app, "primary", "late");
      const before = performance.now();
      expect(await eventsOfNewGroup(w, nextName())).to.equal(1);
      expect(performance.now() - before).to.be.lessThan(2_500 * slowness());
      expect(await reads(w.app, "primary", "late")).to.equal(late + 1);
    } finally {
      way.heal();
    }
    await served(w);
  });

  it("run on the primary while the standby is stopped, and on the standby once it is back", async () => {
    // The other server logs to the same place that it uses the standby again.
    await Promise.all([served(w), served(another)]);
    const said = await saidDuring(async () => {
      await standby.stop();
      const lost = await reads(w.app, "primary", "unavailable");
      expect(await eventsOfNewGroup(w, nextName())).to.equal(1);
      expect(await reads(w.app, "primary", "unavailable")).to.equal(lost + 1);
      await followPrimary(standby);
      await served(w);
    });
    // On a busy machine, it may be late afterwards.
    expect(said.length).to.be.at.least(2);
    expect(said[1]).to.equal("The standby is used again. ");
  });

  it("obey a change of roles immediately, however far the standby is", async () => {
    await served(w);
    const auditor = await w.user("standby-auditor");
    expect((await w.as(auditor).failure(auditEvents)).code).to.equal("FORBIDDEN");
    await standby.query("select pg_wal_replay_pause()");
    try {
      await w.grant(auditor, "auditor");
      expect((await w.as(auditor).graphql(auditEvents)).auditEvents.nodes).to.have.length(10);
    } finally {
      await standby.query("select pg_wal_replay_resume()");
    }
    await served(w);
    await w.grant(auditor);
    expect((await w.as(auditor).failure(auditEvents)).code).to.equal("FORBIDDEN");
  });

  it("work behind a pooler that pools transactions", async function () {
    const program = await unpackOrSkip(this, oldPgBouncer);
    const bouncer = await PgBouncer.start(program, appUrl(second), { mode: "transaction", servers: 2 });
    try {
      const app = await startServer(appUrl(primary), { STEWARD_DATABASE_READ_URL: bouncer.url(appUrl(second)) });
      try {
        const ctx = systemContext(app);
        await eventually(() => ctx.readOnStandby(isStandby), "the standby serves reads", 30_000);
        const settings = await Promise.all(
          Array.from({ length: 5 }, () =>
            ctx.readOnStandby(async ({ db }) => {
              const read = sql<{ zone: string }>`select current_setting('TimeZone') as zone where ${true}`;
              return (await read.execute(db)).rows[0]!.zone;
            }),
          ),
        );
        expect(settings).to.deep.equal(Array(5).fill("UTC"));
      } finally {
        await app.close();
      }
    } finally {
      await bouncer.remove();
      program.remove();
    }
  });

  it("go to the standby of several servers", async () => {
    const hosts = [primary, standby].map((server) => new URL(server.url()).host).join(",");
    const app = await startServer(appUrl(primary), { STEWARD_DATABASE_READ_URL: `postgres://app:secret@${hosts}/app` });
    try {
      const ctx = systemContext(app);
      await eventually(() => ctx.readOnStandby(isStandby), "the standby serves reads", 30_000);
    } finally {
      await app.close();
    }
  });

  it("fail at the start if the URL leads to another database or is rejected", async () => {
    const other = await cloneDatabase();
    const refusal = async (url: string) => {
      const app = await startServer(appUrl(primary), { STEWARD_DATABASE_READ_URL: url }).catch(
        ({ message }: Error) => message,
      );
      if (typeof app === "string") return app;
      await app.close();
      return "started";
    };
    const isOther = "STEWARD_DATABASE_READ_URL leads to another database than STEWARD_DATABASE_URL.";
    try {
      expect(await refusal(other.url)).to.equal(isOther);
    } finally {
      await other.drop();
    }
    expect(await refusal(appUrl(standby, "other"))).to.equal(isOther);
    expect(await refusal(appUrl(standby).replace("secret", "wrong"))).to.match(
      /^The database rejects STEWARD_DATABASE_READ_URL: .*password/,
    );
  });

  for (const [name, urlOf, reason] of [
    [
      "a server that is down",
      async () => `postgres://app:secret@127.0.0.1:${await freePort("127.0.0.1")}/app`,
      "ECONN",
    ],
    ["the primary itself", async () => appUrl(primary), "is not a standby"],
  ] as const)
    it(`run on the primary if the URL leads to ${name}`, async () => {
      const url = await urlOf();
      let app: World["app"];
      const said = await saidDuring(async () => {
        app = await startServer(appUrl(primary), { STEWARD_DATABASE_READ_URL: url });
      });
      try {
        expect(said).to.have.length(1);
        expect(said[0]).to.include(reason);
        expect(await systemContext(app!).readOnStandby(isStandby)).to.equal(false);
        expect(await reads(app!, "primary", "given_up")).to.equal(1);
        expect(await readiness(app!)).to.deep.equal({ status: "ok", degraded: ["standby"] });
      } finally {
        await app!.close();
      }
    });

  it("run on the primary once the standby has been promoted, and never on a standby of a replaced primary", async () => {
    await served(w);
    await standby.promote();
    await eventually(has(standby, "select where not pg_is_in_recovery()"), "it is promoted", 20_000);
    expect(await eventsOfNewGroup(w, nextName())).to.equal(1);
    expect(await reads(w.app, "primary", "not_a_standby")).to.equal(1);
    // The standby of the first primary has more WAL than the second primary, and yet lacks what is written there.
    await primary.query("create table padding as select generate_series(1, 200000) as number");
    const [{ lsn }] = (await primary.query("select pg_current_wal_flush_lsn()::text as lsn")) as [{ lsn: string }];
    await eventually(has(second, `select where pg_last_wal_replay_lsn() >= '${lsn}'`), "it follows", 20_000);
    const moved = await startWorldOn(
      { url: appUrl(standby), drop: async () => {} },
      { STEWARD_DATABASE_READ_URL: appUrl(second) },
    );
    try {
      expect(await eventsOfNewGroup(moved, nextName())).to.equal(1);
      expect(await reads(moved.app, "standby")).to.equal(0);
      const said = loggedFromInfo.findLast(({ msg }) => String(msg).includes("standby"));
      expect(said?.reason).to.match(/^The standby follows another primary/);
    } finally {
      await moved.app.close();
    }
  });
});
