// Looks inside: the servers are killed, and what became of each message is read when none is left.
import { expect } from "chai";
import { Client as SqlClient } from "pg";
import { customTemplateId, deliver, testTemplateId } from "../../support/inbox.js";
import { type Letter, Mailbox } from "../../support/mailbox.js";
import { type ServerProcess, spawnServer } from "../../support/process.js";
import { Receiver } from "../../support/webhooks.js";
import { eventually } from "../../support/watchers.js";
import { startWorld, type World } from "../../support/world.js";

/** With STEWARD_TEST_CHAOS, the test takes minutes instead of seconds. */
const { messages, crashes } = process.env.STEWARD_TEST_CHAOS
  ? { messages: 2_000, crashes: 20 }
  : { messages: 240, crashes: 4 };
/** Deliveries at a time, by each method. */
const inFlight = 10;

/** The message whose attempt a letter is. */
const idOf = ({ text }: Letter): string => /^Message-ID: <([^@>]+)@/im.exec(text)![1]!;

describe("the delivery of notifications by servers that are killed", () => {
  let receiver: Receiver;
  let mailbox: Mailbox;
  let w: World;
  let sql: SqlClient;

  before(async () => {
    [receiver, mailbox] = [await Receiver.open(), await Mailbox.open()];
    w = await startWorld({ ...receiver.settings, ...mailbox.settings });
    sql = new SqlClient(w.database.url);
    await sql.connect();
  });
  after(async () => {
    await sql.end();
    await w.database.drop();
    await receiver.close();
    await mailbox.close();
  });

  /** The message of each delivery, by webhook and by mail. */
  const deliveries = () => [...receiver.accepted, ...mailbox.letters.map(idOf)];

  it("loses no message, and repeats only those whose lease was lost, with the same id", async function () {
    this.timeout(900_000);
    const pause = (isPaused: boolean) =>
      sql.query(
        `insert into site_settings (key, value) values ('notifications', $1)
         on conflict (key) do update set value = excluded.value`,
        [{ notifierPaused: isPaused }],
      );
    await sql.query("insert into notification_template_methods (template_id, method) values ($1, 'smtp')", [
      testTemplateId,
    ]);
    await pause(true);
    const titles = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    for (let enqueued = 0; enqueued < messages; enqueued += 2 * titles.length) {
      await deliver(w.app, w.owner.id, titles, { templateId: customTemplateId });
      await deliver(w.app, w.owner.id, titles, { templateId: testTemplateId });
    }
    await w.app.close();

    const settings = {
      ...receiver.settings,
      ...mailbox.settings,
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_NOTIFICATIONS_LEASE_COUNT: String(inFlight),
      STEWARD_NOTIFICATIONS_LEASE_PERIOD: "4s",
      STEWARD_NOTIFICATIONS_DISPATCH_TIMEOUT: "2s",
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
    };
    receiver.delay = mailbox.delay = 500;
    const replicas: ServerProcess[] = await Promise.all([spawnServer(settings), spawnServer(settings)]);
    // One server must not send all messages while the other one starts.
    await pause(false);
    const leased = async () => (await sql.query("select from notification_messages where state = 'leased'")).rowCount!;
    await eventually(async () => (await leased()) > 2 * inFlight, "both servers send messages", 30_000);
    for (let crash = 1; crash <= crashes; crash++) {
      const { length } = deliveries();
      // The first victim has messages in flight.
      if (crash > 1)
        await eventually(() => deliveries().length > length || length >= messages, "a message arrives", 30_000);
      const victim = replicas.shift()!;
      victim.child.kill("SIGKILL");
      receiver.delay = mailbox.delay = 50;
      await victim.ended;
      replicas.push(await spawnServer(settings));
    }
    const unfinished = async () =>
      (await sql.query("select from notification_messages where finished_at is null")).rowCount;
    await eventually(
      async () => (await unfinished()) === 0,
      "all messages are finished, also those whose lease has to expire",
      120_000,
    );
    for (const { child } of replicas) child.kill("SIGTERM");
    expect(await Promise.all(replicas.map(({ ended }) => ended))).to.deep.equal([0, 0]);

    const { rows } = await sql.query<{ id: string; state: string; attempts: number; lost: number; failed: number }>(
      `select id, state, attempts, lost, failed
       from notification_messages m, lateral (
         select count(*) filter (where outcome = 'lost')::int as lost, count(*) filter (where outcome <> 'done')::int as failed
         from notification_attempts where message_id = m.id) attempts_of
       where method <> 'inbox'`,
    );
    expect(rows).to.have.length(messages);
    expect(new Set(rows.map(({ state }) => state))).to.deep.equal(new Set(["sent"]));
    const arrived = Map.groupBy(deliveries(), (id) => id);
    expect([...arrived.keys()].sort()).to.deep.equal(rows.map(({ id }) => id).sort());
    const unexplained = rows.filter(({ id, failed }) => arrived.get(id)!.length > 1 + failed);
    expect(unexplained, "repeated although no attempt failed or was lost").to.deep.equal([]);
    const lost = rows.reduce((sum, row) => sum + row.lost, 0);
    expect(lost).to.be.within(1, crashes * inFlight * 2);
    if (process.env.STEWARD_TEST_CHAOS)
      console.log(`      ${messages} messages, ${lost} leases lost, ${deliveries().length - messages} repeated`);
  });

  it("ignores the result of a server that goes on after its lease", async () => {
    const settings = {
      ...receiver.settings,
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_NOTIFICATIONS_LEASE_PERIOD: "10s",
      STEWARD_NOTIFICATIONS_DISPATCH_TIMEOUT: "8s",
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
    };
    const { length } = receiver.requests;
    const halted = await spawnServer(settings);
    receiver.respond = (count) => {
      if (count !== length + 1) return 204;
      // Before its attempt times out.
      halted.child.kill("SIGSTOP");
      return "hang";
    };
    const response = await fetch(`${halted.url}/api/v2/notifications/custom`, {
      method: "POST",
      headers: { Authorization: `Bearer ${w.owner.token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ content: { title: "late", message: "A server stops while it sends this." } }),
    });
    expect(response.status).to.equal(204);
    await eventually(() => receiver.requests.length === length + 1, "the first attempt", 30_000);
    const other = await spawnServer(settings);
    const { id } = receiver.requests[length]!;
    const read = async () =>
      (
        await sql.query<{ state: string; outcomes: string[] }>(
          `select state, array(select outcome from notification_attempts where message_id = m.id order by number, time) as outcomes
           from notification_messages m where id = $1`,
          [id],
        )
      ).rows[0]!;
    await eventually(async () => (await read()).state === "sent", "another server sends it", 30_000);
    // Its attempt times out, and it stores the result before it ends.
    halted.child.kill("SIGCONT");
    halted.child.kill("SIGTERM");
    await halted.ended;
    expect(await read()).to.deep.equal({ state: "sent", outcomes: ["lost", "done"] });
    expect(receiver.requests.slice(length).map((each) => each.id)).to.deep.equal([id, id]);
    other.child.kill("SIGTERM");
    await other.ended;
  });
});
