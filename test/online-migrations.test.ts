// Migrations that run while servers of an earlier release are busy: no request of theirs fails or waits for long.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { firstMonthId, newId } from "./support/ids.js";
import { connect, report } from "./support/connections.js";
import { spawnStart } from "./support/process.js";
import { eventually } from "./support/watchers.js";
import { type Person, world } from "./support/world.js";

const rows = 60_000;
let count = 0;

describe("a migration beside a busy server", function () {
  this.timeout(180_000);
  // Its statements wait for locks for a second at most: a sixth of the timeout of requests.
  const the = world({ STEWARD_REQUEST_TIMEOUT: "6s" });
  let ada: Person;
  let agent: { token: string };

  before(async () => {
    [ada] = (await the().users("ada")) as [Person];
    ({ agent } = await the().workspace(ada));
    await query(
      `insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
       select ${firstMonthId}, $1, -n, gen_random_uuid(), '{}', 'Title ' || n, repeat('content ', 20), '', '[]', now()
       from generate_series(1, $2::int) n`,
      [ada.id, rows],
    );
    await query(
      `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
         type, connect_time, reporter)
       select ${firstMonthId}, $1, gen_random_uuid(), 'box', $2, 'main', 'ssh', now() - make_interval(secs => n),
         gen_random_uuid() from generate_series(1, $3::int) n`,
      [the().defaultOrganization, ada.id, rows],
    );
  });

  async function query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const client = await connected();
    try {
      return (await client.query<Row>(sql, values)).rows;
    } finally {
      await client.end();
    }
  }
  async function connected(name = "test"): Promise<Postgres> {
    const client = new Postgres({ connectionString: the().database.url, application_name: name });
    await client.connect();
    return client;
  }

  /**
   * Keeps the server busy during `work`: it reads and writes the tables of the migrations, and so do transactions beside
   * it that lock them in different orders and wait for a second at most. Returns what failed.
   */
  async function busy(work: () => Promise<unknown>): Promise<string[]> {
    const failures: string[] = [];
    const over = new AbortController();
    const w = the();
    const [owner, own] = [w.as(w.owner), w.as(ada)];
    const requests: Array<() => Promise<unknown>> = [
      () => own.put("/api/v2/users/me/quiet-hours", { schedule: `CRON_TZ=UTC ${++count % 60} 2 * * *` }),
      () => own.get("/api/v2/notifications/inbox"),
      () => own.put("/api/v2/notifications/inbox/mark-all-as-read"),
      () => owner.post("/api/v2/organizations/default/groups", { name: `group-${++count}` }),
      () => report(w, agent, connect(newId())),
      () => owner.get("/api/v2/connectionlog?limit=10"),
      () => owner.post("/graphql", { query: "{ users(first: 10) { nodes { username } } }" }),
    ];
    const until = async (each: () => Promise<unknown>) => {
      while (!over.signal.aborted) {
        const failure = await each().then((answer) => {
          const { status, body } = answer as { status: number; body?: { errors?: unknown } };
          return status < 300 && !body?.errors ? "" : `${String(each)} ${JSON.stringify(answer)}`;
        }, String);
        if (failure) failures.push(failure);
      }
    };
    const transactions = await Promise.all(
      [
        ["update users set name = name where id = $1", "update inbox_notifications set icon = '' where id = $2"],
        ["update inbox_notifications set icon = '' where id = $2", "select count(*) from users where id = $1"],
        ["select from connection_logs limit 1", "update users set name = name where id = $1"],
      ].map(async (statements) => {
        const client = await connected();
        await client.query("set lock_timeout to '1s'");
        const user = (await w.users("bob"))[0]!.id;
        return async () => {
          await client.query("begin");
          const [{ id }] = (
            await client.query<{ id: string }>("select id from inbox_notifications where seq = $1", [
              -1 - Math.floor(Math.random() * rows),
            ])
          ).rows as [{ id: string }];
          for (const statement of statements)
            await client.query(statement.replaceAll("$1", `'${user}'`).replaceAll("$2", `'${id}'`));
          await client.query("commit");
          return over.signal.aborted ? client.end().then(() => ({ status: 200 })) : { status: 200 };
        };
      }),
    );
    const running = [...requests, ...transactions].map(until);
    try {
      await work();
    } finally {
      over.abort();
      await Promise.all(running);
    }
    return failures.slice(0, 3);
  }

  /** Starts the process of a new release that only migrates. */
  function migrating(kind = "columns") {
    const script = ["--import", "./tools/ts-loader.mjs", "test/support/online-migration.ts", the().database.url, kind];
    const child = spawn(process.execPath, script, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(child, "close");
    return { child, output: () => output, ended };
  }

  async function expectMigrated(): Promise<void> {
    const [found] = await query(
      `select (select count(*)::int from inbox_notifications where folded_title is distinct from lower(title)) as missing,
         (select indisvalid from pg_index where indexrelid = 'inbox_notifications_folded_index'::regclass) as "isValid",
         (select count(*)::int from unfinished_migrations) as unfinished,
         (select count(*)::int from migrations where name = '9999-folded-titles') as executed`,
    );
    expect(found).to.deep.equal({ missing: 0, isValid: true, unfinished: 0, executed: 1 });
  }

  afterEach(() =>
    query(`
      drop trigger if exists fold_title on inbox_notifications;
      drop function if exists fold_title;
      alter table inbox_notifications drop column if exists folded_title;
      alter table users drop column if exists folded_count, drop column if exists slow;
      delete from migrations where name ~ '^9999-';
      drop table if exists unfinished_migrations;`),
  );

  it("adds columns, an index, and the values of rows, and no request fails or waits for a second", async () => {
    const failures = await busy(async () => {
      const { output, ended } = migrating();
      await ended;
      expect(output()).to.contain('["done",["9999-folded-titles"]]');
    });
    expect(failures).to.deep.equal([]);
    await expectMigrated();
  });

  it("says what it waits for, and lets others pass meanwhile", async () => {
    const reader = await connected("weekly report");
    await reader.query("begin; select count(*) from inbox_notifications");
    const failures = await busy(async () => {
      const { output, ended } = migrating();
      await eventually(() => /waitsFor.*weekly report/.test(output()), "it says that it waits", 60_000);
      expect(output()).to.contain("Running the migration 9999-folded-titles");
      await reader.query("commit");
      await ended;
    });
    await reader.end();
    expect(failures).to.deep.equal([]);
    await expectMigrated();
  });

  it("that holds locks for seconds gives way to others, says so, and succeeds without them", async () => {
    let started!: ReturnType<typeof migrating>;
    const failures = await busy(async () => {
      started = migrating("slow");
      const isAdvised = () => started.output().includes("Stop those servers");
      await eventually(isAdvised, "it says what would let it succeed", 60_000);
    });
    expect(failures).to.deep.equal([]);
    await started.ended;
    expect(started.output()).to.contain('["done",["9999-slow"]]');
  });

  it("validates a constraint without waiting for those who read the table", async () => {
    await query(
      "alter table inbox_notifications add constraint inbox_notifications_title_check check (title <> '') not valid",
    );
    const reader = await connected("weekly report");
    await reader.query("begin; select count(*) from inbox_notifications");
    const { output, ended } = migrating("validation");
    await ended;
    await reader.end();
    expect(output()).to.equal('["done",["9999-titles-checked"]]\n');
    await query("alter table inbox_notifications drop constraint inbox_notifications_title_check");
  });

  it("is completed by another process if it is killed while it builds an index", async () => {
    const reader = await connected("weekly report");
    await reader.query("begin isolation level repeatable read; select count(*) from organizations");
    const first = migrating();
    await eventually(() => /Building the index.*/.test(first.output()), "it builds the index", 60_000);
    first.child.kill("SIGKILL");
    await first.ended;
    const second = migrating();
    await eventually(() => /Building the index.*/.test(second.output()), "another process builds it", 60_000);
    await reader.query("commit");
    await second.ended;
    await reader.end();
    await expectMigrated();
  });

  it("is that of replicas that start concurrently, and replaces indexes of a large table", async () => {
    const before = await indexes();
    await query(
      `${before.map(({ name, definition }) => `drop index ${name}; ${definition.replace("connect_time, id", "connect_time desc, id desc")};`).join("")}
       delete from migrations where name in ('0032-connection-log-order', '0030-last-seen-days');
       alter table users drop column last_seen_on;`,
    );
    expect(await indexes(), "as the earlier release had them").not.to.deep.equal(before);
    const failures = await busy(async () => {
      const settings = { STEWARD_DATABASE_URL: the().database.url, STEWARD_BUILTIN_DAEMON: "false" };
      const replicas = await Promise.all([spawnStart(settings), spawnStart(settings)]);
      try {
        for (const { url, output } of replicas) {
          const isReady = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200;
          await eventually(isReady, "it is ready", 60_000).catch((error: Error) => {
            throw new Error(output(), { cause: error });
          });
        }
      } finally {
        for (const { child } of replicas) child.kill("SIGTERM");
        await Promise.all(replicas.map(({ ended }) => ended));
      }
    });
    expect(failures).to.deep.equal([]);
    expect(await indexes()).to.deep.equal(before);
    expect(await query("select from pg_index where not indisvalid")).to.deep.equal([]);
  });

  const indexes = () =>
    query<{ name: string; definition: string }>(
      `select indexname as name, indexdef as definition from pg_indexes
       where tablename = 'connection_logs' and indexname ~ '_(time|organization|type|organization_type|workspace|owner|user|ongoing|organization_ongoing)_index$'
       order by indexname`,
    );
});
