// What results of deliveries wait for: locks of endpoints and of deliveries.
// Reaches for tables: their locks.
import { expect } from "chai";
import { changeEndpoint, deliveriesOf, EventReceiver, makeEndpoint, toThisMachine } from "../support/event-receiver.js";
import { lockRows, lockTable } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Client, world } from "../support/world.js";

describe("locks of event endpoints", () => {
  const the = world(toThisMachine);
  let receiver: EventReceiver;
  let owner: Client;

  beforeEach(async () => {
    owner = the().as(the().owner);
    receiver = await EventReceiver.open();
  });
  afterEach(async () => {
    await receiver.close();
  });

  /** Makes an endpoint whose messages are open. Returns its id, and those of its deliveries, in order. */
  async function withOpenMessages(count: number) {
    const responses: Array<() => void> = [];
    receiver.respond = (_, response) => void responses.push(() => response.writeHead(204).end());
    const { id } = await makeEndpoint(the(), receiver.url, { eventTypes: ["group.create"] });
    for (let nr = 0; nr < count; nr++) await the().group(`open-${receiver.port}-${nr}`);
    // One that has waited for ten seconds arrives again.
    const arrived = () => new Set(receiver.received.map((message) => message.id)).size;
    await eventually(() => arrived() === count, "the messages arrive", 15_000);
    const [first, ...others] = (await deliveriesOf(owner, id)).map((delivery) => delivery.id).toSorted();
    return { id, first: first!, others, respond: () => responses.forEach((respond) => respond()) };
  }
  const lastMinute = () => new Date(Date.now() - 60_000).toISOString();

  it("leave the row of an endpoint free while the events of a period are read", async () => {
    const { id, respond } = await withOpenMessages(1);
    const sending = await lockTable(the().database.url, "audit_log", async ({ awaited, lock }) => {
      const begun = changeEndpoint(owner, "redeliverEvents", { id, after: lastMinute() }, "count");
      await awaited();
      await lock("event_endpoints", { id });
      return { begun };
    });
    await sending.begun;
    respond();
  });

  it("let the events of a period be sent again while results of others of them are stored", async () => {
    const { id, first, respond } = await withOpenMessages(1);
    await lockRows(the().database.url, "event_deliveries", { id: first }, async () => {
      const period = { id, after: lastMinute(), onlyUndelivered: false };
      const { count } = await changeEndpoint(owner, "redeliverEvents", period, "count");
      // Those of before the endpoint was made.
      expect(await deliveriesOf(owner, id)).to.have.lengthOf(1 + count);
    });
    respond();
  });

  it("are taken in one order by results, and by the deletion of an endpoint", async () => {
    const { id, first, others, respond } = await withOpenMessages(3);
    const deleting = await lockRows(the().database.url, "event_deliveries", { id: first }, async (holder) => {
      const begun = changeEndpoint(owner, "deleteEventEndpoint", { id }, "eventEndpoint { id }");
      await holder.awaited();
      await holder.lock("event_deliveries", { id: others });
      return { begun };
    });
    await deleting.begun;
    respond();
  });

  it("are taken in this order by results that arrive together", async () => {
    const { first, others, respond } = await withOpenMessages(3);
    await lockRows(the().database.url, "event_deliveries", { id: first }, async (holder) => {
      respond();
      await holder.awaited();
      await holder.lock("event_deliveries", { id: others });
    });
  });

  it("of results cancel at most their storing, which is tried again: nothing is sent twice", async () => {
    const { id, first, respond } = await withOpenMessages(3);
    await lockRows(the().database.url, "event_deliveries", { id: first }, async ({ awaited, cancelWaiting }) => {
      respond();
      await awaited();
      await cancelWaiting();
    });
    const { length } = receiver.received;
    const states = async () => (await deliveriesOf(owner, id)).map(({ state, attempts }) => `${state} ${attempts}`);
    const delivered = Array(3).fill("DELIVERED 1");
    await eventually(async () => String(await states()) === String(delivered), "the results are stored", 10_000);
    expect(receiver.received).to.have.lengthOf(length);
  });
});
