// Tables with a partition for each month: months are made ahead, no write fails without one, and old ones are dropped.
// Looks inside: no interface shows partitions.
import { expect } from "chai";
import { Client } from "pg";
import { loggedFromInfo, startServer } from "../../support/app.js";
import { fillIn } from "../../support/backfills.js";
import { runJob } from "../../support/background.js";
import { connect, disconnect, logged, reported, visit } from "../../support/connections.js";
import { newId } from "../../support/ids.js";
import { deliver } from "../../support/inbox.js";
import { countWaiting } from "../../support/locks.js";
import { age, firstPartitions, idAt, month, months, type Partitioned } from "../../support/months.js";
import { makeProxy } from "../../support/proxies.js";
import { eventually, transports } from "../../support/watchers.js";
import { type Person, type World, world } from "../../support/world.js";

const day = 86_400_000;
const all = Object.keys(firstPartitions) as Partitioned[];
const names = (...offsets: number[]) => offsets.map((offset) => month(offset).name);
const lines = (text: string) => loggedFromInfo.filter(({ msg }) => String(msg).includes(text));

async function query<Row extends object>({ app }: World, text: string, values: unknown[] = []): Promise<Row[]> {
  return (await app.services.database.pool.query<Row>(text, values)).rows;
}

/** Runs a job with other settings. */
const runWith = ({ app: { services } }: World, job: Parameters<typeof runJob>[1], config: object) =>
  runJob({ services: { ...services, config: { ...services.config, ...config } } }, job);

/** SQL of the days of a month. */
const days = (offset: number) =>
  `generate_series('${month(offset).date}'::timestamptz, '${month(offset + 1).date}'::timestamptz - interval '1 day', interval '1 day')`;

/** The time from a day of a month until now. */
const timeSince = (offset: number, dayOfMonth = "10") =>
  Date.now() - Date.parse(`${month(offset).date.slice(0, 8)}${dayOfMonth}T00:00:00Z`);

describe("months of a table", () => {
  const the = world();

  it("are made ahead when a server starts, beyond the first partition, which has two", async () => {
    for (const table of all) expect(await months(the(), table), table).to.deep.equal(names(2, 3));
  });

  it("are made by a job that several servers may run at the same time", async () => {
    for (const table of all) await age(the(), table, 0, [0]);
    await Promise.all([1, 2, 3, 4].map(() => runJob(the().app, "monthsJob")));
    for (const table of all) expect(await months(the(), table), table).to.deep.equal(names(0, 1, 2, 3));
    await runJob(the().app, "monthsJob");
    expect(await months(the(), "inbox")).to.deep.equal(names(0, 1, 2, 3));
  });

  it("have the indexes, the foreign key, and the settings of the first partition", async () => {
    const definitions = (table: string) =>
      query<{ definition: string }>(
        the(),
        `select regexp_replace(pg_get_indexdef(indexrelid), '(INDEX) \\S+ ON \\S+', '\\1') as definition
         from pg_index where indrelid = $1::regclass
         union all select pg_get_constraintdef(oid) from pg_constraint where conrelid = $1::regclass
         union all select attname || attoptions::text from pg_attribute where attrelid = $1::regclass and attoptions is not null
         order by 1`,
        [table],
      );
    for (const table of all) {
      const first = await definitions(firstPartitions[table]);
      expect(first.length).to.be.above(5);
      // The first partition of inboxes has a unique constraint instead of an index.
      const own = first.filter(({ definition }) => !definition.startsWith("UNIQUE"));
      expect(await definitions(`${table}_${month(1).name}`), table).to.deep.equal(own);
      expect(await definitions(`${table}_default`), table).to.deep.equal(own);
    }
  });
});

describe("a table without a partition for this month", () => {
  const the = world();

  it("takes rows all the same, and the server warns of it until the next month", async () => {
    const w = the();
    for (const table of all) await age(w, table, -1, [-1]);
    const [ada] = await w.users("ada");
    const { id: workspace, agent } = await w.workspace(ada!);
    await w.as(ada!).post("/api/v2/notifications/custom", { content: { title: "Hello", message: "World" } });
    const connection = newId();
    expect(await reported(w, agent, connect(connection))).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await reported(w, agent, disconnect(connection))).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await reported(w, agent, connect(connection), disconnect(connection))).to.deep.equal({
      recorded: 0,
      skipped: 2,
    });
    for (const table of all) expect((await query(w, `select from ${table}_default`)).length, table).to.be.above(0);
    expect((await logged(w, `workspace_id:${workspace}`)).connection_logs).to.have.length(1);
    const { inboxNotifications } = await w.as(ada!).graphql("{ inboxNotifications { totalCount } }");
    expect(inboxNotifications.totalCount).to.equal(1);

    const missing = "has no partition for a month that begins within a week";
    const rows = "has rows, for which there was no";
    const before = [lines(missing).length, lines(rows).length];
    await runJob(w.app, "monthsJob");
    expect([lines(missing).length - before[0]!, lines(rows).length - before[1]!]).to.deep.equal([3, 3]);
    expect(lines(missing).at(-1)).to.include({ level: 40, month: month(0).date });
    for (const table of all) expect(await months(w, table), table).to.deep.equal(names(-1, 1, 2, 3));
  });
});

describe("tables of another owner", () => {
  const the = world();

  it("let a server start and write, which warns of the months that it cannot make", async () => {
    const w = the();
    await age(w, "audit_log", 0, []);
    await query(w, "create role steward_writer login password 'secret'");
    try {
      await query(w, "grant select, insert, update, delete on all tables in schema public to steward_writer");
      const url = new URL(w.database.url);
      Object.assign(url, { username: "steward_writer", password: "secret" });
      const app = await startServer(url.href);
      try {
        const line = lines("has no partition").findLast((each) => each.month === month(0).date);
        expect(line).to.include({ level: 40, table: "audit_log" });
        expect(line!.reason).to.match(/^permission denied for schema|^must be owner/);
      } finally {
        await app.close();
      }
      expect(
        (await w.as(w.owner).graphql("{ auditEvents(first: 1) { nodes { id } } }")).auditEvents.nodes,
      ).to.have.length(0);
      await w.users("ada");
      expect((await query(w, "select from audit_log_default")).length).to.be.above(0);
    } finally {
      await query(w, "drop owned by steward_writer; drop role steward_writer");
    }
  });
});

describe("sessions and visits across months", () => {
  const the = world();

  it("are one row each, whatever month has it", async () => {
    const w = the();
    await age(w, "connection_log", -2, [-2, -1, 0]);
    const ada = (await w.users("ada"))[0]!;
    const { id: workspace, agent } = await w.workspace(ada);
    const connection = newId();
    const another = newId();
    await reported(w, agent, connect(connection), connect(another));
    const proxy = await makeProxy(w, "eu");
    const seen = visit(workspace);
    await reported(w, proxy, seen);
    // As if it had been reported in the month before the last.
    const then = `'${month(-2).date}'::timestamptz + interval '1 day'`;
    await query(w, `update connection_log set id = ${idAt(then)}, connect_time = ${then}`);
    expect((await query(w, `select from connection_log_${month(-2).name}`)).length).to.equal(3);

    const ends = [disconnect(connection), connect(connection), disconnect(connection)];
    const recorded = await Promise.all(ends.map((each) => reported(w, agent, each)));
    expect(recorded.reduce((sum, each) => sum + each.recorded, 0)).to.equal(1);
    expect(await reported(w, agent, connect(another, { time: connect(another).time }))).to.deep.equal({
      recorded: 0,
      skipped: 1,
    });
    expect(await reported(w, proxy, seen)).to.deep.equal({ recorded: 0, skipped: 1 });
    expect((await logged(w, `workspace_id:${workspace}`)).connection_logs).to.have.length(3);
    expect((await logged(w, `connection_id:${connection}`)).connection_logs[0].ssh_info.disconnect_time).to.be.a(
      "string",
    );
  });
});

describe("sessions and visits that are reported late", () => {
  const the = world();

  it("are in the month of their time, also from servers of an earlier release, and are listed in it", async () => {
    const w = the();
    await age(w, "connection_log", -2, [-2, -1, 0]);
    const ada = (await w.users("ada"))[0]!;
    const { id: workspace, agent } = await w.workspace(ada);
    const late = new Date(Date.now() - 29.5 * day).toISOString();
    const connection = newId();
    const ended = newId();
    const soon = newId();
    const proxy = await makeProxy(w, "eu");
    await reported(w, proxy, visit(workspace, { time: late }));
    expect(
      await reported(w, agent, connect(connection, { time: late }), connect(soon), disconnect(ended)),
    ).to.deep.equal({ recorded: 3, skipped: 0 });
    // The start of what ended before is reported last.
    expect(await reported(w, agent, connect(ended, { time: late }))).to.deep.equal({ recorded: 1, skipped: 0 });
    expect(await reported(w, agent, disconnect(connection), connect(ended, { time: late }))).to.deep.equal({
      recorded: 1,
      skipped: 1,
    });
    const near = `select id >= first_id_of(connect_time - interval '1 day') and id < first_id_of(connect_time + interval '1 day') as is_near from connection_log`;
    expect(await query(w, near)).to.deep.equal(Array.from({ length: 4 }, () => ({ is_near: true })));
    const search = `workspace_id:${workspace} connected_after:${new Date(Date.now() - 30 * day).toISOString()} connected_before:${new Date(Date.now() - 29 * day).toISOString()}`;
    const found = (await logged(w, search)).connection_logs;
    expect(found).to.have.length(3);
    expect((await logged(w, `workspace_id:${workspace}`)).connection_logs).to.have.length(4);
  });

  it("of before the upgrade get an id of their time", async () => {
    const w = the();
    await query(w, "alter table connection_log disable trigger place_connection");
    await query(w, `update connection_log set id = ${idAt("now()")}`);
    await query(w, "alter table connection_log enable trigger place_connection");
    const counts = await fillIn(w, "0095-connection-months");
    expect(counts).to.deep.equal([3]);
    expect(await fillIn(w, "0095-connection-months")).to.deep.equal([0]);
    const rows = await query(w, "select from connection_log where id >= first_id_of(connect_time + interval '1 day')");
    expect(rows).to.have.length(0);
  });
});

describe("the retention of months", () => {
  const the = world();
  const past = [-6, -5, -4, -3, -2, -1, 0];
  const cutoff = () => timeSince(-4);

  before(async () => {
    for (const table of all) await age(the(), table, -6, past);
  });

  it("drops those that ended before it, and keeps the whole month in which it ends", async () => {
    const w = the();
    for (const offset of past.slice(0, -1)) {
      await query(
        w,
        `insert into audit_log (id, time, actor_kind, action, resource_type, diff, request_id)
        select ${idAt("at")}, at, 'user', 'update', 'aged', '{}', 'request' from ${days(offset)} at`,
      );
      await query(
        w,
        `insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id,
          agent_name, type, connect_time, reporter)
        select ${idAt("at")}, '${w.defaultOrganization}', '${newId()}', 'box', '${w.owner.id}', 'main', 'ssh', at, '${newId()}' from ${days(offset)} at`,
      );
    }
    await runWith(w, "auditPurge", { auditRetention: 0 });
    expect(await months(w, "audit_log")).to.include.members(names(...past));
    const events = () =>
      query<{ first: Date }>(
        w,
        "select time as first from audit_log where resource_type = 'aged' order by time limit 1",
      );

    // Both replicas find the same months.
    await Promise.all([1, 2].map(() => runWith(w, "auditPurge", { auditRetention: cutoff() })));
    expect((await months(w, "audit_log"))[0]).to.equal(month(-4).name);
    expect((await events())[0]!.first).to.deep.equal(`${month(-4).date}T00:00:00.000Z`);
    expect(await query(w, "select to_regclass('audit_events') as first")).to.deep.equal([{ first: null }]);
    expect(lines("was dropped after its retention").map(({ partition }) => partition)).to.include.members([
      "audit_events",
      `audit_log_${month(-6).name}`,
      `audit_log_${month(-5).name}`,
    ]);
    const { auditEvents } = await w
      .as(w.owner)
      .graphql(`{ auditEvents(filter: { resourceType: "aged" }) { totalCount } }`);
    expect(auditEvents.totalCount).to.be.within(4 * 28 + 2, 4 * 31);

    await runWith(w, "connectionLogPurge", { connectionLogRetention: cutoff() });
    expect((await months(w, "connection_log"))[0]).to.equal(month(-4).name);
    expect((await logged(w)).connection_logs.at(-1).connect_time).to.contain(`${month(-4).date}T00:00:00`);
  });

  it("keeps the number of unread notifications of an inbox right", async () => {
    const w = the();
    const [ada] = await w.users("ada");
    for (const offset of past.slice(0, -1))
      await query(
        w,
        `insert into inbox (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at)
         select ${idAt("at")}, $1, extract(epoch from at), gen_random_uuid(), '{}', '', '', '', '[]', at from ${days(offset)} at`,
        [ada!.id],
      );
    await query(
      w,
      "insert into inbox_cursors (user_id, last_seq, unread_count) select $1, 1, count(*) from inbox where user_id = $1",
      [ada!.id],
    );
    await runWith(w, "inboxPurge", { inboxReadRetention: day, inboxUnreadRetention: cutoff(), inboxMax: 1_000 });
    expect((await months(w, "inbox"))[0]).to.equal(month(-4).name);
    const { inboxNotifications } = await w.as(ada!).graphql("{ inboxNotifications { totalCount unreadCount } }");
    expect(inboxNotifications.unreadCount).to.equal(inboxNotifications.totalCount).and.to.be.above(100);
  });

  it("lets others pass while it waits for those who read the table", async () => {
    const w = the();
    const reader = new Client({ connectionString: w.database.url });
    await reader.connect();
    await reader.query("begin; select count(*) from audit_log");
    const oldest = (await months(w, "audit_log"))[0];
    const purged = runWith(w, "auditPurge", { auditRetention: 62 * day });
    const waiting = `select from pg_locks where not granted and relation = 'audit_log'::regclass`;
    while ((await query(w, waiting)).length === 0);
    for (let n = 0; n < 20; n++) {
      expect(await w.as(w.owner).graphql("{ auditEvents(first: 1) { nodes { id } } }")).to.have.property("auditEvents");
    }
    // They did not wait for it: it waits until the reader is done.
    expect(await months(w, "audit_log")).to.include(oldest);
    await reader.query("commit");
    await reader.end();
    await purged;
    expect(await months(w, "audit_log")).to.not.include(oldest);
  });
});

describe("the retention of inboxes", () => {
  const the = world();
  const past = [-6, -5, -4, -3, -2, -1, 0];
  const long = 3650 * day;
  /** Retentions of which the longer one ends within the month -4, and the shorter one within the month -2. */
  const both = () => ({ inboxUnreadRetention: timeSince(-4), inboxReadRetention: timeSince(-2), inboxMax: 1_000 });

  before(() => age(the(), "inbox", -6, [1]));
  beforeEach(async () => {
    await query(the(), "truncate inbox, inbox_cursors, inbox_epochs");
    for (const offset of past) await query(the(), "select create_month('inbox', $1)", [month(offset).date]);
  });

  /** Creates users. Owners have been told of them: nothing else arrives in an inbox while a test changes some. */
  async function usersOf(w: World, ...usernames: string[]): Promise<Person[]> {
    const made = await w.users(...usernames);
    await runJob(w.app, "noticeJob");
    return made;
  }

  /** Adds a notification a day to an inbox, for months; those of odd days are read. Then counts what is unread. */
  async function fillMonths(w: World, { id }: Person, offsets: readonly number[]): Promise<void> {
    for (const offset of offsets)
      await query(
        w,
        `insert into inbox (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at, read_at)
         select ${idAt("at")}, $1, extract(epoch from at), gen_random_uuid(), '{}', '', '', '', '[]', at,
           case when extract(day from at)::int % 2 = 1 then at end from ${days(offset)} at`,
        [id],
      );
    await query(
      w,
      `insert into inbox_cursors (user_id, last_seq, unread_count)
       select $1, max(seq), count(*) filter (where read_at is null) from inbox where user_id = $1
       on conflict (user_id) do update set unread_count = excluded.unread_count`,
      [id],
    );
  }

  /** The months of a user's notifications, read and unread. Expects that the count is that of those that are unread. */
  async function monthsOf(w: World, person: Person): Promise<{ read: string[]; unread: string[] }> {
    const found = await w.as(person).graphql(
      `{ read: inboxNotifications(filter: { readStatus: READ }, first: 1000) { nodes { createdAt } }
         unread: inboxNotifications(filter: { readStatus: UNREAD }, first: 1000) { unreadCount nodes { createdAt } } }`,
    );
    expect(found.unread.unreadCount, "the number of unread notifications").to.equal(found.unread.nodes.length);
    const monthsIn = ({ nodes }: { nodes: Array<{ createdAt: string }> }) =>
      [...new Set(nodes.map(({ createdAt }) => createdAt.slice(0, 7).replace("-", "_")))].toSorted();
    return { read: monthsIn(found.read), unread: monthsIn(found.unread) };
  }

  it("drops the months beyond both, with what they add to the numbers of unread notifications", async () => {
    const w = the();
    const [ada, bob, carl, dora] = (await usersOf(w, "ada", "bob", "carl", "dora")) as [Person, Person, Person, Person];
    await fillMonths(w, ada, past.slice(0, -1));
    await fillMonths(w, bob, [-2, -1]);
    await fillMonths(w, carl, [-6, -5]);
    await fillMonths(w, dora, [-6, -5]);
    // What she has from now on is of another epoch: all of those months is read.
    await w.as(dora).put("/api/v2/notifications/inbox/mark-all-as-read");
    await deliver(w.app, dora.id, ["new"]);
    const untouched = await monthsOf(w, bob);
    const count = () =>
      query<{ unread: number }>(w, "select unread_count as unread from inbox_cursors order by user_id");
    const before = await count();

    // Nothing ends.
    await runWith(w, "inboxPurge", { inboxUnreadRetention: long, inboxReadRetention: long });
    expect(await count()).to.deep.equal(before);
    expect(await months(w, "inbox")).to.include.members(names(...past));

    // Both replicas find the same months.
    const retentions = { ...both(), inboxReadRetention: timeSince(-4) };
    await Promise.all([1, 2].map(() => runWith(w, "inboxPurge", retentions)));
    expect((await months(w, "inbox")).slice(0, 5)).to.deep.equal(names(-4, -3, -2, -1, 0));
    // The month in which they end stays as it is, with the day at which it begins.
    expect(await monthsOf(w, ada)).to.deep.equal({ read: names(-4, -3, -2, -1), unread: names(-4, -3, -2, -1) });
    expect(await query(w, `select from inbox where created_at = '${month(-4).date}'`)).to.have.length(1);
    expect(await monthsOf(w, bob)).to.deep.equal(untouched);
    expect(await monthsOf(w, carl)).to.deep.equal({ read: [], unread: [] });
    expect(await monthsOf(w, dora)).to.deep.equal({ read: [], unread: names(0) });
  });

  it("deletes what is read between them, and keeps what is unread, or the reverse", async () => {
    const w = the();
    const [ada, bob] = (await usersOf(w, "ada", "bob")) as [Person, Person];
    await fillMonths(w, ada, past.slice(0, -1));
    await fillMonths(w, bob, [-1]);
    await runWith(w, "inboxPurge", both());
    expect(await monthsOf(w, ada)).to.deep.equal({ read: names(-2, -1), unread: names(-4, -3, -2, -1) });
    const oldest = await query<{ at: string }>(w, "select min(created_at) as at from inbox where read_at is not null");
    expect(Date.parse(oldest[0]!.at)).to.be.above(Date.now() - both().inboxReadRetention);
    expect(await monthsOf(w, bob)).to.deep.equal({ read: names(-1), unread: names(-1) });

    await runWith(w, "inboxPurge", { inboxUnreadRetention: timeSince(-1, "01"), inboxReadRetention: long });
    expect(await monthsOf(w, ada)).to.deep.equal({ read: names(-2, -1), unread: names(-1) });
  });

  it("deletes rows that no month has", async () => {
    const w = the();
    const [ada] = (await usersOf(w, "ada")) as [Person];
    await query(w, `drop table inbox_${month(-5).name}`);
    await fillMonths(w, ada, [-5, -1]);
    expect(await query(w, "select from inbox_default")).to.have.length.above(27);
    await runWith(w, "inboxPurge", {
      inboxUnreadRetention: timeSince(-2, "01"),
      inboxReadRetention: timeSince(-2, "01"),
    });
    expect(await query(w, "select from inbox_default")).to.have.length(0);
    expect(await monthsOf(w, ada)).to.deep.equal({ read: names(-1), unread: names(-1) });
  });

  it("leaves full inboxes the newest, read ones go first, and does not touch the others", async () => {
    const w = the();
    const [ada, bob, carl] = (await usersOf(w, "ada", "bob", "carl")) as [Person, Person, Person];
    const ids: string[] = [];
    for (let n = 0; n < 15; n++) ids.push(...(await deliver(w.app, ada.id, [`n${n}`])));
    await deliver(w.app, bob.id, ["a", "b", "c"]);
    await deliver(w.app, carl.id, ["a"]);
    for (const id of ids.slice(-3))
      await w.as(ada).put(`/api/v2/notifications/inbox/${id}/read-status`, { is_read: true });
    const versions = () =>
      query(w, "select user_id, xmin, xmax from inbox_cursors where user_id <> $1 order by 1", [ada.id]);
    const before = await versions();
    const kept = async ({ id }: Person) =>
      (await query<{ id: string }>(w, "select id from inbox where user_id = $1 order by seq", [id])).map(
        (row) => row.id,
      );

    // One server, whose later runs read only the inboxes in which something arrived.
    const { services } = w.app;
    const server = { services: { ...services, config: { ...services.config, inboxMax: 10 } } };
    await runJob(server, "inboxPurge");
    expect(await kept(ada)).to.deep.equal(ids.slice(2, 12));
    expect(await versions(), "the rows of the others").to.deep.equal(before);
    expect(await monthsOf(w, ada)).to.deep.equal({ read: [], unread: names(0) });

    await deliver(w.app, ada.id, ["more"]);
    await deliver(
      w.app,
      bob.id,
      Array.from({ length: 9 }, (_, n) => `n${n}`),
    );
    await runJob(server, "inboxPurge");
    expect((await kept(ada)).slice(0, 9)).to.deep.equal(ids.slice(3, 12));
    expect(await kept(bob)).to.have.length(10);
    expect(await monthsOf(w, bob)).to.deep.equal({ read: [], unread: names(0) });
  });

  it("counts what others change while it waits for them", async () => {
    const w = the();
    const [ada] = (await usersOf(w, "ada")) as [Person];
    await fillMonths(w, ada, past.slice(0, -1));
    const writer = new Client({ connectionString: w.database.url });
    await writer.connect();
    /** Marks the notifications of a day as another state, as the server does, while the job runs. */
    const meanwhile = async (offset: number, mark: string, by: number) => {
      await writer.query("begin");
      await writer.query("select from inbox_cursors where user_id = $1 for no key update", [ada.id]);
      const purged = runWith(w, "inboxPurge", both());
      await eventually(async () => (await countWaiting(w.app.services.database.pool)) > 0, "the job waits");
      const { rowCount } = await writer.query(`update inbox set ${mark} where created_at = $1`, [month(offset).date]);
      expect(rowCount).to.equal(1);
      await writer.query("update inbox_cursors set unread_count = unread_count + $1", [by]);
      await writer.query("commit");
      await purged;
    };
    // The first day of the month that is dropped is read, and that of a month between the retentions.
    await meanwhile(-6, "read_at = null", 1);
    expect((await months(w, "inbox"))[0]).to.equal(month(-4).name);
    expect(await monthsOf(w, ada)).to.deep.equal({ read: names(-2, -1), unread: names(-4, -3, -2, -1) });

    await query(w, "update inbox set read_at = now() where created_at = $1", [`${month(-3).date.slice(0, 8)}02`]);
    await query(w, "update inbox_cursors set unread_count = unread_count - 1");
    await query(w, "update inbox set created_at = $1 where created_at = $2", [
      month(-3).date,
      `${month(-3).date.slice(0, 8)}02`,
    ]);
    await meanwhile(-3, "read_at = null", 1);
    expect(await query(w, "select from inbox where created_at = $1", [month(-3).date])).to.have.length(1);
    await monthsOf(w, ada);
    await writer.end();
  });

  it("lets writers and watchers go on, whose counts stay right", async () => {
    const w = the();
    const people = (await usersOf(w, "ada", "bob", "carl")) as [Person, Person, Person];
    for (const person of people) await fillMonths(w, person, past.slice(0, -1));
    const watchers = await Promise.all(people.map(({ token }) => transports.SSE(w.url, token)));
    const titles = Array.from({ length: 40 }, (_, n) => `n${n}`);
    await Promise.all([
      ...people.map(({ id }) => deliver(w.app, id, titles)),
      ...people.map(async (person) => {
        for (const id of (await inboxOfMonth(w, person, -3)).slice(0, 10))
          await w.as(person).put(`/api/v2/notifications/inbox/${id}/read-status`, { is_read: true });
      }),
      ...[1, 2].map(() => runWith(w, "inboxPurge", both())),
    ]);
    await runWith(w, "inboxPurge", both());
    expect((await months(w, "inbox"))[0]).to.equal(month(-4).name);
    for (const person of people) expect((await monthsOf(w, person)).read).to.deep.equal(names(-2, -1));

    for (const { id } of people) await deliver(w.app, id, ["last"]);
    for (const [n, { items }] of watchers.entries()) {
      await eventually(() => items.at(-1)?.title === "last", "the watcher gets the last one");
      expect(items.map(({ title }) => title).toSorted()).to.deep.equal([...titles, "last"].toSorted());
      const { inboxNotifications } = await w.as(people[n]!).graphql("{ inboxNotifications { unreadCount } }");
      expect(items.at(-1)!.unreadCount).to.equal(inboxNotifications.unreadCount);
      for (const { unreadCount } of items) expect(unreadCount).to.be.above(0);
      watchers[n]!.close();
    }
  });

  const inboxOfMonth = async (w: World, { id }: Person, offset: number) =>
    (
      await query<{ id: string }>(w, `select id from inbox_${month(offset).name} where user_id = $1 order by seq`, [id])
    ).map((row) => row.id);
});
