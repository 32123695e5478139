// A server behind PgBouncer, which is started from its packages.
// Looks inside: the recognition of poolers is told by many clients concurrently, which the start of as many servers would hide.
import { expect } from "chai";
import { sql } from "kysely";
import { Client as Connection } from "pg";
import { StartRefused } from "../../../src/runtime/errors.js";
import { openDatabase } from "../../../src/infrastructure/database/database.js";
import { loggedFromInfo, ownerPassword, startServer, systemContext } from "../../support/app.js";
import { cloneDatabase, createDatabase, type TestDatabase } from "../../support/cluster.js";
import { type Packages, type Unpacked, unpackOrSkip } from "../../../tools/debian.js";
import { deliver } from "../../support/inbox.js";
import { newPgBouncer, oldPgBouncer, PgBouncer, type PgBouncerOptions } from "../../support/pgbouncer.js";
import { command } from "../../support/process.js";
import { isTimeout, makeUnusual } from "../../support/unusual-settings.js";
import { eventually, transports } from "../../support/watchers.js";
import { Client, startWorldOn, type World } from "../../support/world.js";

/** Statements may take 3 s, and wait 1 s for a lock. */
const settings = { STEWARD_REQUEST_TIMEOUT: "6s", STEWARD_DATABASE_POOL: "10" };
const servers = 3;

/** Runs statements on a connection of its own. */
async function on<Result>(url: string, work: (client: Connection) => Promise<Result>): Promise<Result> {
  const client = new Connection(url);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const codeOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => "none",
    (error: { code?: string }) => error.code,
  );

interface Kind {
  packages: Packages;
  options: PgBouncerOptions;
  /** Whether a URL past the pooler is needed. */
  isShared: boolean;
  /** Whether statements are prepared under their names. */
  isPrepared: boolean;
}

const kinds: Record<string, Kind> = {
  "PgBouncer 1.18 in session mode": {
    packages: oldPgBouncer,
    options: { mode: "session", servers: 60 },
    isShared: false,
    isPrepared: true,
  },
  "PgBouncer 1.18 in transaction mode": {
    packages: oldPgBouncer,
    options: { mode: "transaction", servers },
    isShared: true,
    isPrepared: false,
  },
  "PgBouncer 1.24 in transaction mode, which keeps prepared statements": {
    packages: newPgBouncer,
    options: { mode: "transaction", servers, settings: ["max_prepared_statements = 200"] },
    isShared: true,
    isPrepared: true,
  },
};

for (const [name, { packages, options, isShared, isPrepared }] of Object.entries(kinds)) {
  describe(`behind ${name}, a server`, () => {
    let program: Unpacked | undefined;
    let database: TestDatabase;
    let bouncer: PgBouncer;
    let w: World;
    let lines: Array<Record<string, unknown>>;
    const changes = () => ({ ...settings, ...(isShared && { STEWARD_DATABASE_DIRECT_URL: database.url }) });

    before(async function () {
      program = await unpackOrSkip(this, packages);
      database = await cloneDatabase();
      // A time zone that is not that of the program, and all else that roles and databases may have.
      const { pathname } = new URL(database.url);
      await on(database.url, (client) => makeUnusual(client, pathname.slice(1), (each) => !isTimeout(each)));
      bouncer = await PgBouncer.start(program, database.url, options);
      const before = loggedFromInfo.length;
      const drop = async () => {
        await bouncer.remove();
        await database.drop();
      };
      w = await startWorldOn(
        { url: bouncer.url(database.url), drop },
        { ...changes(), STEWARD_BUILTIN_DAEMON: "true" },
      );
      lines = loggedFromInfo.slice(before);
    });
    after(async () => {
      await w?.close();
      program?.remove();
    });

    it("says once that sessions are shared, and whether statements are prepared", () => {
      const said = lines.filter(({ msg }) => String(msg).includes("pooler"));
      expect(said.map(({ preparesStatements }) => preparesStatements)).to.deep.equal(isShared ? [isPrepared] : []);
    });

    it("prepares statements only if the pooler keeps them", async () => {
      const { db } = w.app.services.database;
      const count = () => sql<{ count: number }>`select count(*) from pg_prepared_statements where ${true}`.execute(db);
      const counts = await Promise.all(Array.from({ length: 20 }, count));
      for (const { rows } of counts) expect(rows[0]!.count > 0).to.equal(isPrepared);
    });

    it("signs in, changes, lists, and searches, in more requests than the pooler has connections", async () => {
      const people = await w.users("ada", "bob", "eve");
      const names = Array.from({ length: 20 }, (_, index) => `pooled-${index}`);
      const search = "query($search: String) { users(filter: { search: $search }) { nodes { id } } }";
      const changed = async (group: string) => {
        const made = await w.group(group, { members: people });
        const renamed = await w.as(w.owner).patch(`/api/v2/groups/${made.id}`, { name: `${group}-renamed` });
        const { users } = await w.as(w.owner).graphql(search, { search: people[1]!.username });
        const taken = await w.as(w.owner).post(`/api/v2/organizations/default/groups`, { name: `${group}-renamed` });
        return [renamed.status, renamed.body.members.length, users.nodes.length, taken.status];
      };
      // All at a time would wait longer than they may on a slow machine.
      const responses: number[][] = [];
      for (let from = 0; from < names.length; from += 5)
        responses.push(...(await Promise.all(names.slice(from, from + 5).map(changed))));
      for (const response of responses) expect(response).to.deep.equal([200, 3, 1, 409]);
      const { groups } = await w.as(w.owner).graphql(`{ groups(filter: { search: "pooled-1" }) { nodes { name } } }`);
      expect(groups.nodes).to.have.length(11);
      expect(await w.login(w.owner.email, ownerPassword)).to.match(/^stw_/);
      expect((await w.nobody.post("/api/v2/users/login", { email: w.owner.email, password: "wrong" })).status).to.equal(
        401,
      );
    });

    it("has its settings on every statement, and the time in UTC", async () => {
      const { db } = w.app.services.database;
      const read = sql<Record<string, string>>`select ${"a value"} as value, now()::text as time,
        current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
        current_setting('jit') as jit, current_setting('max_parallel_workers_per_gather') as workers,
        current_setting('transaction_isolation') as isolation, current_setting('transaction_deferrable') as deferrable`;
      const results = await Promise.all([
        ...Array.from({ length: 20 }, () => read.execute(db)),
        ...Array.from({ length: 4 }, () => db.transaction().execute((transaction) => read.execute(transaction))),
      ]);
      for (const { time, ...others } of results.map(({ rows }) => rows[0]!)) {
        expect(others).to.deep.equal({
          value: "a value",
          statement: "3s",
          lock: "1s",
          jit: "off",
          workers: "0",
          isolation: "read committed",
          deferrable: "off",
        });
        expect(time).to.match(/\+00$/);
      }
    });

    it("ends statements that take too long, and waits for locks, on every connection", async () => {
      const { db } = w.app.services.database;
      const sleep = sql`select pg_sleep(${60})`;
      const slow = await Promise.all([
        ...Array.from({ length: servers - 1 }, () => codeOf(sleep.execute(db))),
        codeOf(db.transaction().execute((transaction) => sleep.execute(transaction))),
      ]);
      expect(new Set(slow)).to.have.all.keys("57014");
      await on(database.url, async (holder) => {
        await holder.query("begin");
        await holder.query("select from users where id = $1 for update", [w.owner.id]);
        const touch = () =>
          db
            .updateTable("users")
            .set({ lastSeenAt: sql`now()` })
            .where("id", "=", w.owner.id);
        const locked = await Promise.all([
          codeOf(touch().execute()),
          codeOf(db.transaction().execute((transaction) => transaction.executeQuery(touch().compile()))),
        ]);
        expect(new Set(locked)).to.have.all.keys("55P03");
        const rename = `mutation { updateProfile(input: { name: "Locked" }) { __typename } }`;
        expect((await w.as(w.owner).failure(rename)).code).to.equal("UNAVAILABLE");
      });
      expect(await codeOf(sql`select`.execute(db))).to.equal("none");
    });

    it("stores nothing of what fails, within transactions and without", async () => {
      const { db } = w.app.services.database;
      const id = w.owner.id;
      const nameOf = async () =>
        (await db.selectFrom("users").select("name").where("id", "=", id).executeTakeFirst())!.name;
      const before = await nameOf();
      const fail = sql`update users set name = 'lost', quiet_hours_schedule = (1 / (length(name) - length(name)))::text where id = ${id}`;
      const ctx = systemContext(w.app);
      expect(await codeOf(sql`update users set name = ${"lost"}, email = null where id = ${id}`.execute(db))).to.equal(
        "23502",
      );
      const failing = ctx.transactional(async () => {
        await sql`update users set name = ${"lost"} where id = ${id}`.execute(ctx.db);
        await fail.execute(ctx.db);
      });
      expect(await codeOf(failing)).not.to.equal("none");
      expect(await nameOf()).to.equal(before);
    });

    it("delivers the live inbox on every replica, also of one that has been restarted", async () => {
      const [ada] = await w.users("ada");
      let other = await startServer(bouncer.url(database.url), changes());
      try {
        for (const title of ["before", "after"]) {
          const watchers = await Promise.all(
            Object.values(transports).map((connect) => connect(other.url, ada!.token)),
          );
          await deliver(w.app, ada!.id, [title]);
          await eventually(() => watchers.every(({ items }) => items.some((item) => item.title === title)), title);
          for (const watcher of watchers) watcher.close();
          await other.close();
          other = await startServer(bouncer.url(database.url), changes());
        }
        expect(
          (await new Client(other.url, ada!.token).get("/api/v2/notifications/inbox")).body.notifications,
        ).to.have.length(2);
      } finally {
        await other.close();
      }
    });

    it("runs its jobs in the background", async () => {
      const document = { schema: "steward.template/1", provisioner: "echo" };
      const create = `mutation($input: CreateTemplateInput!) { createTemplate(input: $input) { templateVersion { id } } }`;
      const { createTemplate } = await w
        .as(w.owner)
        .graphql(create, { input: { organization: w.defaultOrganization, name: "pooled", document } });
      const { id } = createTemplate.templateVersion;
      const read = "query($id: UUID!) { templateVersion(id: $id) { job { status } } }";
      const status = async () => (await w.as(w.owner).graphql(read, { id })).templateVersion.job.status;
      await eventually(async () => (await status()) === "SUCCEEDED", "the import is done", 20_000);
    });

    if (isShared)
      it("leaves no settings, prepared statements, or listeners on connections that others get", async () => {
        const clients = await Promise.all(
          Array.from({ length: servers }, async () => {
            const client = new Connection(bouncer.url(database.url));
            await client.connect();
            await client.query("begin");
            return client;
          }),
        );
        const read = `select pg_backend_pid() as pid, current_setting('timezone') as zone, current_setting('statement_timeout') as statement,
        current_setting('lock_timeout') as lock, current_setting('jit') as jit, current_setting('synchronous_commit') as commit,
        (select count(*)::int from pg_listening_channels()) as channels,
        (select count(*)::int from pg_prepared_statements where name not like 'PGBOUNCER_%') as prepared`;
        try {
          const rows = (await Promise.all(clients.map((client) => client.query(read)))).map((result) => result.rows[0]);
          const [{ pid, ...usual }] = await on(database.url, async (client) => (await client.query(read)).rows);
          expect(pid).to.be.a("number");
          expect(usual).to.include({ zone: "Asia/Tokyo", statement: "0", channels: 0, prepared: 0 });
          expect(new Set(rows.map((row) => row.pid)).size, "all connections of the pooler").to.equal(servers);
          for (const row of rows) expect(row).to.deep.equal({ ...usual, pid: row.pid });
        } finally {
          for (const client of clients) await client.end();
        }
      });

    it("recovers after the pooler has crashed", async () => {
      const [ada] = await w.users("ada");
      await bouncer.kill();
      const isReady = async () => (await w.nobody.get("/readyz")).status === 200;
      await eventually(async () => !(await isReady()), "it is not ready", 10_000);
      await bouncer.start();
      await eventually(isReady, "it is ready", 20_000);
      const watcher = await transports.SSE(w.url, ada!.token);
      await deliver(w.app, ada!.id, ["recovered"]);
      await eventually(() => watcher.items.length === 1, "hints arrive");
      watcher.close();
    });

    it("migrates, and makes and restores backups", async () => {
      const empty = await createDatabase();
      const env = (direct: string) => ({
        STEWARD_DATABASE_URL: bouncer.url(direct),
        ...(isShared && { STEWARD_DATABASE_DIRECT_URL: direct }),
      });
      const file = `${program!.directory}/backup`;
      try {
        const made = await command(env(database.url), "backup", "--out", file);
        expect([made.status, made.stdout]).to.deep.equal([0, made.stdout], made.stderr);
        const restored = await command(env(empty.url), "restore", file);
        expect(restored.status, restored.stderr).to.equal(0);
        const migrated = await command(env(empty.url), "migrate");
        expect([migrated.status, migrated.stdout]).to.deep.equal([0, "The database is up to date.\n"]);
        const users = (url: string) =>
          on(url, async (client) => (await client.query("select count(*) from users")).rows);
        expect(await users(empty.url)).to.deep.equal(await users(database.url));
      } finally {
        await empty.drop();
      }
    });
  });
}

describe("a pooler", () => {
  let program: Unpacked | undefined;
  let database: TestDatabase;
  const open: PgBouncer[] = [];
  before(async function () {
    program = await unpackOrSkip(this, oldPgBouncer);
  });
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(async () => {
    for (const bouncer of open.splice(0)) await bouncer.remove();
    await database.drop();
  });
  after(() => program?.remove());

  async function pooler(options: PgBouncerOptions): Promise<PgBouncer> {
    const bouncer = await PgBouncer.start(program!, database.url, options);
    open.push(bouncer);
    return bouncer;
  }

  /** Starts a server that must not start, and returns the reason. */
  async function reasonOf(url: string, direct?: string): Promise<string> {
    try {
      const app = await startServer(url, { ...settings, STEWARD_DATABASE_DIRECT_URL: direct });
      await app.close();
      return "It started.";
    } catch (error) {
      return (error as Error).message;
    }
  }
  const tables = (url: string) =>
    on(url, async (client) => (await client.query("select from pg_tables where schemaname = 'public'")).rowCount);

  for (const changes of [[], ["server_round_robin = 1", "min_pool_size = 3"]])
    it(`is rejected in transaction mode without a URL that leads past it: ${["pool_mode = transaction", ...changes].join(", ")}`, async () => {
      const bouncer = await pooler({ mode: "transaction", servers, settings: changes });
      expect(await reasonOf(bouncer.url(database.url))).to.match(/^The pooler .* set STEWARD_DATABASE_DIRECT_URL/);
      expect(await tables(database.url)).to.equal(0);
      const left = `select name, setting from pg_settings where source = 'session' and name not in ('application_name', 'client_encoding')
        union all select 'listens', pg_listening_channels() union all select 'has', name from pg_prepared_statements`;
      for (let attempt = 0; attempt < servers; attempt++)
        expect(await on(bouncer.url(database.url), async (client) => (await client.query(left)).rows)).to.deep.equal(
          [],
        );
      const { status, stderr } = await command({ STEWARD_DATABASE_URL: bouncer.url(database.url) }, "migrate");
      expect(status).to.equal(1);
      expect(stderr).to.match(/^The pooler .* set STEWARD_DATABASE_DIRECT_URL/m);
    });

  const modes: PgBouncerOptions[] = [
    { mode: "session", servers: 60 },
    { mode: "transaction", servers },
    { mode: "transaction", servers, settings: ["server_round_robin = 1", "min_pool_size = 3"] },
  ];
  for (const options of modes)
    it(`is recognized by several servers that start at the same time: ${[options.mode, ...(options.settings ?? [])].join(", ")}`, async () => {
      const bouncer = await pooler(options);
      const url = bouncer.url(database.url);
      const recognized = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const opened = openDatabase({ url, pool: 2, statementTimeout: 5_000, needsSession: true });
          const outcome = await sql`select`.execute(opened.db).then(
            () => "session",
            (error: Error) => (error instanceof StartRefused ? "transaction" : error.message),
          );
          await opened.close();
          return outcome;
        }),
      );
      expect(new Set(recognized)).to.have.all.keys(options.mode);
    });

  it("is rejected in statement mode", async () => {
    const bouncer = await pooler({ mode: "statement", servers });
    const reason = await reasonOf(bouncer.url(database.url), database.url);
    expect(reason).to.match(/^The pooler of the database rejects transactions: .*statement pooling/);
    expect(await tables(database.url)).to.equal(0);
  });

  it("is rejected with a direct URL of another database, or of none, or that leads to a pooler as well", async () => {
    const bouncer = await pooler({ mode: "transaction", servers });
    const url = bouncer.url(database.url);
    const other = await createDatabase();
    try {
      expect(await reasonOf(url, other.url)).to.equal(
        "STEWARD_DATABASE_DIRECT_URL leads to another database than STEWARD_DATABASE_URL.",
      );
      const { status, stderr } = await command(
        { STEWARD_DATABASE_URL: url, STEWARD_DATABASE_DIRECT_URL: other.url },
        "backup",
        "--out",
        `${program!.directory}/another`,
      );
      expect([status, stderr].join()).to.match(/^1,STEWARD_DATABASE_DIRECT_URL leads to another database/);
      const missing = Object.assign(new URL(database.url), { pathname: "missing" }).href;
      expect(await reasonOf(url, missing)).to.match(/^The database rejects STEWARD_DATABASE_DIRECT_URL: .*"missing"/);
      const stranger = Object.assign(new URL(database.url), { password: "wrong" }).href;
      expect(await reasonOf(url, stranger)).to.match(/^The database rejects STEWARD_DATABASE_DIRECT_URL: .*password/);
      expect(await reasonOf(url, url)).to.match(
        /^STEWARD_DATABASE_DIRECT_URL cannot be used\. The pooler .* lends its connections/,
      );
      expect([await tables(database.url), await tables(other.url)]).to.deep.equal([0, 0]);
      expect(await reasonOf(url, "mysql://db")).to.match(/STEWARD_DATABASE_DIRECT_URL must be a URL/);
    } finally {
      await other.drop();
    }
  });
});
