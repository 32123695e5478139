// Migrations that run while servers of an earlier release are busy: no request of theirs fails or waits for long.
// Looks inside: schemas of earlier releases are migrated under load.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "chai";
import { Client as Postgres } from "pg";
import { firstMonthId, newId } from "../../support/ids.js";
import { connect, report } from "../../support/connections.js";
import { migrateOffline } from "../../../src/infrastructure/database/migrations.js";
import { openDatabase } from "../../../src/infrastructure/database/database.js";
import { createDatabase } from "../../support/cluster.js";
import { spawnStart } from "../../support/process.js";
import { eventually, slowness } from "../../support/watchers.js";
import { type Person, world } from "../../support/world.js";

const rows = 60_000;
let count = 0;

describe("a migration beside a busy server", () => {
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
    const owner = w.as(w.owner);
    const own = w.as(ada);
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
      `select (select count(*)::int from inbox where folded_title is distinct from lower(title)) as missing,
         (select indisvalid from pg_index where indexrelid = 'inbox_folded_index'::regclass) as "isValid",
         (select count(*)::int from pg_inherits where inhparent = 'inbox'::regclass) -
           (select count(*)::int from pg_inherits where inhparent = 'inbox_folded_index'::regclass) as lacking,
         (select count(*)::int from unfinished_migrations) as unfinished,
         (select count(*)::int from migrations where name = '9999-folded-titles') as executed`,
    );
    expect(found).to.deep.equal({ missing: 0, isValid: true, lacking: 0, unfinished: 0, executed: 1 });
  }

  afterEach(() =>
    query(`
      drop trigger if exists fold_title on inbox;
      drop function if exists fold_title;
      alter table inbox drop column if exists folded_title;
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
});

/** Statements of servers of the release before there were months, with their values. */
const earlier = {
  audit: `insert into audit_events (id, time, actor_kind, action, resource_type, diff, request_id)
    select id, now(), actor_kind, action, resource_type, diff, request_id
    from json_populate_recordset(null::audit_events, $1)`,
  auditPage: `select id, time, actor_id, actor_kind, action, resource_type, resource_id, diff from audit_events
    where resource_type = $1 order by time desc, id desc limit 25`,
  auditPurge: `delete from audit_events where ctid = any(array(
    select t.ctid from audit_events t where time <= now() - interval '10 years' order by time limit 1000
    for update of t skip locked))`,
  connect: `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
      type, connect_time, reporter, connection_id, is_connect_reported)
    values ($1, $2, $2, 'box', $2, 'main', 'ssh', now(), $2, $3, true)
    on conflict (connection_id, workspace_id, agent_name) where connection_id is not null
    do update set connect_time = excluded.connect_time, is_connect_reported = true`,
  disconnect: `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
      type, connect_time, reporter, connection_id, disconnect_time)
    values ($1, $2, $2, 'box', $2, 'main', 'ssh', now(), $2, $3, now())
    on conflict (connection_id, workspace_id, agent_name) where connection_id is not null
    do update set disconnect_time = excluded.disconnect_time`,
  visit: `insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name,
      type, connect_time, reporter, event_id)
    values ($1, $2, $2, 'box', $2, 'main', 'workspace_app', now(), $2, $3)
    on conflict (reporter, event_id) where event_id is not null do nothing`,
  arrive: `insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
    values ($1, $2, $3, $1, '{}', 'title', '', '', '[]', now())`,
  inboxPage: `select id, seq, template_id, title, content, read_at, created_at from inbox_notifications
    where user_id = $1 order by created_at desc, id desc limit 25`,
  markRead: "update inbox_notifications set read_at = now() where user_id = $1 and seq = $2",
};

describe("the migrations to months, of replicas that start concurrently", () => {
  const user = newId();
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let sql: Postgres;

  before(async () => {
    database = await createDatabase();
    const opened = openDatabase({ url: database.url, pool: 2, statementTimeout: 0 });
    await migrateOffline(opened, "0031-scim-emails");
    await opened.close();
    sql = new Postgres({ connectionString: database.url });
    await sql.connect();
    await sql.query(`
      insert into users (id, created_at, updated_at, email, username, login_type)
      values ('${user}', now(), now(), 'ada@example.com', 'ada', 'none');
      insert into audit_events (id, time, actor_kind, action, resource_type, diff, request_id)
      select ${firstMonthId}, now() - make_interval(mins => n), 'user', 'update', 'group', '{}', 'request'
      from generate_series(1, ${rows}) n;
      insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
      select ${firstMonthId}, '${user}', -n, gen_random_uuid(), '{}', 'Title ' || n, repeat('content ', 20), '', '[]', now()
      from generate_series(1, ${rows}) n;
      insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
        connect_time, reporter)
      select ${firstMonthId}, gen_random_uuid(), gen_random_uuid(), 'box', gen_random_uuid(), 'main', 'ssh',
        now() - make_interval(secs => n), gen_random_uuid() from generate_series(1, ${rows}) n;
      -- As if an id did not begin with the time of its row.
      insert into audit_events (id, time, actor_kind, action, resource_type, diff, request_id)
      values ('f0000000-0000-4000-8000-000000000000', '2025-03-04T05:06:07.089Z', 'user', 'update', 'group', '{}', 'random');`);
  });
  after(async () => {
    await sql?.end();
    await database?.drop();
  });

  const select = async (text: string) => (await sql.query<Record<string, unknown>>(text)).rows;
  /** The files of the tables, and those of the indexes that the migrations do not replace. */
  const files = () =>
    select(`select relname, relfilenode::int8 from pg_class where relname ~ '^(audit_events|inbox_notifications)'
        and relname !~ '_seq_unique$' or relname in ('connection_logs', 'connection_logs_pkey') order by relname`);

  it("copy no row and build no index again, and those of earlier releases notice nothing", async () => {
    const before = await files();
    const failures: string[] = [];
    let slowest = 0;
    let written = 0;
    const over = new AbortController();
    const serve = async (
      each: (run: (name: keyof typeof earlier, values?: unknown[]) => Promise<number | null>) => unknown,
    ) => {
      const client = new Postgres({ connectionString: database.url });
      await client.connect();
      while (!over.signal.aborted) {
        const since = performance.now();
        const run = async (name: keyof typeof earlier, values: unknown[] = []) =>
          (
            await client.query({ name, text: earlier[name], values }).catch((error: Error) => {
              throw new Error(`${name}: ${error.message}`);
            })
          ).rowCount;
        await Promise.resolve(each(run)).catch((error: Error) => failures.push(error.message));
        slowest = Math.max(slowest, performance.now() - since);
        written++;
      }
      await client.end();
    };
    const event = { actor_kind: "user", action: "create", resource_type: "task", diff: {}, request_id: "earlier" };
    let seq = 0;
    const serving = [
      serve((run) => run("audit", [JSON.stringify([{ ...event, id: newId() }])])),
      serve(async (run) => {
        await run("auditPage", ["task"]);
        expect(await run("auditPurge")).to.equal(0);
      }),
      serve(async (run) => {
        const workspace = newId();
        const connection = newId();
        await run("connect", [newId(), workspace, connection]);
        expect(await run("disconnect", [newId(), workspace, connection])).to.equal(1);
        await run("visit", [newId(), workspace, connection]);
        expect(await run("visit", [newId(), workspace, connection]), "a repeated visit").to.equal(0);
      }),
      serve(async (run) => {
        await run("arrive", [newId(), user, ++seq]);
        await run("markRead", [user, seq]);
        await run("inboxPage", [user]);
      }),
    ];
    try {
      const settings = { STEWARD_DATABASE_URL: database.url, STEWARD_BUILTIN_DAEMON: "false" };
      const replicas = await Promise.all([spawnStart(settings), spawnStart(settings)]);
      try {
        for (const { url, output } of replicas) {
          const isReady = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200;
          await eventually(isReady, "it is ready", 60_000).catch((error: Error) => {
            throw new Error(output(), { cause: error });
          });
        }
        const until = written + 200;
        await eventually(() => written >= until || failures.length > 0, "earlier servers go on", 30_000);
      } finally {
        for (const { child } of replicas) child.kill("SIGTERM");
        await Promise.all(replicas.map(({ ended }) => ended));
      }
    } finally {
      over.abort();
      await Promise.all(serving);
    }
    expect(failures.slice(0, 3)).to.deep.equal([]);
    expect(slowest, "milliseconds of the slowest").to.be.below(1_500 * slowness());
    expect(await files()).to.include.deep.members(before);
    expect(await select("select from pg_index where not indisvalid")).to.deep.equal([]);
  });

  it("leave the earlier tables as first partitions, which have all rows", async () => {
    for (const [parent, first] of Object.entries(partitioned)) {
      const [counts] = await select(
        `select (select count(*)::int from ${parent}) as "all", (select count(*)::int from ${first}) as first`,
      );
      expect(counts!.all).to.be.above(rows).and.to.equal(counts!.first);
      const indexes = await select(
        `select relname from pg_index join pg_class on oid = indexrelid where indrelid = '${first}'::regclass and not relispartition`,
      );
      expect(
        indexes.map(({ relname }) => String(relname)).toSorted(),
        "indexes beside those of the parent",
      ).to.deep.equal(own[first]);
      const [plain] = await select(`select count(*)::int as n from pg_constraint where conname = '${first}_months'`);
      expect(plain).to.deep.equal({ n: 0 });
    }
  });

  it("give an id of its time to a row whose id was none", async () => {
    const [row] = await select("select id from audit_log where request_id = 'random'");
    expect(row!.id).to.match(/^01955f8c-0671-7/);
  });

  const partitioned = { audit_log: "audit_events", connection_log: "connection_logs", inbox: "inbox_notifications" };
  const own: Record<string, string[]> = {
    audit_events: [],
    connection_logs: ["connection_logs_event_unique", "connection_logs_session_unique"],
    inbox_notifications: ["inbox_notifications_seq_unique"],
  };
});
