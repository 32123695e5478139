import { expect } from "chai";
import { Client as SqlClient } from "pg";
import { deliver } from "./support/inbox.js";
import { spawnServer } from "./support/process.js";
import { Receiver } from "./support/webhooks.js";
import { eventually } from "./support/watchers.js";
import { startWorld, type World } from "./support/world.js";

const customTemplate = "39b1e189-c857-4b0c-877a-511144c18516";
const messages = 200;
const crashes = 4;
/** Deliveries at a time: each crash repeats at most these. */
const inFlight = 10;

describe("the delivery of notifications by servers that are killed", () => {
  let receiver: Receiver;
  let w: World;
  let sql: SqlClient;

  before(async () => {
    receiver = await Receiver.open();
    w = await startWorld({ ...receiver.settings });
    sql = new SqlClient(w.database.url);
    await sql.connect();
  });
  after(async () => {
    await sql.end();
    await w.database.drop();
    await receiver.close();
  });

  it("loses no message, and repeats only those that were in flight, with the same id", async function () {
    this.timeout(180_000);
    const pause = (isPaused: boolean) =>
      sql.query(
        `insert into site_settings (key, value) values ('notifications', $1)
         on conflict (key) do update set value = excluded.value`,
        [{ notifierPaused: isPaused }],
      );
    await pause(true);
    const titles = Array.from({ length: messages }, (_, index) => `message ${index}`);
    await deliver(w.app, w.owner.id, titles, { templateId: customTemplate });
    await w.app.close();
    await pause(false);

    const settings = {
      ...receiver.settings,
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_NOTIFICATIONS_LEASE_COUNT: String(inFlight),
      STEWARD_NOTIFICATIONS_LEASE_PERIOD: "10s",
      STEWARD_NOTIFICATIONS_DISPATCH_TIMEOUT: "5s",
      STEWARD_NOTIFICATIONS_FETCH_INTERVAL: "200ms",
    };
    receiver.delay = 20;
    for (let crash = 1; crash <= crashes; crash++) {
      const server = await spawnServer(settings);
      const { length } = receiver.requests;
      await eventually(() => receiver.requests.length > length + inFlight, "some messages arrive", 30_000);
      server.child.kill("SIGKILL");
      await server.ended;
    }
    const survivor = await spawnServer(settings);
    const accepted = await receiver.acceptedMessages(messages);
    await eventually(
      async () => {
        const { rows } = await sql.query("select from notification_messages where finished_at is null");
        return rows.length === 0;
      },
      "all messages are finished, also those whose lease has to expire",
      30_000,
    );
    survivor.child.kill("SIGTERM");
    expect(await survivor.ended).to.equal(0);

    const { rows } = await sql.query<{ id: string }>(
      "select id from notification_messages where method = 'webhook' and state = 'sent'",
    );
    expect([...accepted]).to.have.members(rows.map(({ id }) => id));
    expect(receiver.requests.length - messages).to.be.at.most(crashes * inFlight);
    const lost = await sql.query("select from notification_attempts where outcome = 'lost'");
    expect(lost.rowCount).to.be.within(1, crashes * inFlight);
  });
});
