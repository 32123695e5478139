// A dead endpoint with as many events as may wait, and one that hangs, beside others that work.
// Reaches for tables: ten thousand events that wait are inserted.
import { expect } from "chai";
import { copyAuditEvent } from "../support/audit.js";
import {
  changeEndpoint,
  deliveriesOf,
  EventReceiver,
  makeEndpoint,
  readEndpoint,
  toThisMachine,
} from "../support/event-receiver.js";
import { countRows, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { world } from "../support/world.js";

const most = 10_000;

describe("ten thousand events that wait for a dead endpoint", () => {
  const the = world(toThisMachine);

  it("delay no other endpoint, let further ones wait in the log, and all arrive once it lives", async function () {
    this.timeout(600_000);
    const w = the();
    const owner = w.as(w.owner);
    const usual = await EventReceiver.open();
    const dead = await EventReceiver.open();
    const { port } = dead;
    const { id } = await makeEndpoint(w, dead.url, { name: "dead", eventTypes: ["group.create"] });
    await dead.close();
    await makeEndpoint(w, usual.url, { name: "usual", eventTypes: ["group.create"] });
    await w.group("first");
    await eventually(async () => (await readEndpoint(owner, id)).failingSince !== null, "it fails", 15_000);
    await copyAuditEvent(w, { resourceType: "group", label: "first", count: most - 1 });
    const queued = async () => (await readEndpoint(owner, id)).queuedCount;
    await eventually(async () => (await queued()) === most, "all wait", 120_000);
    // More than the queue of the dead endpoint takes.
    await w.group("beyond");
    await eventually(() => usual.seen.includes("group.create beyond"), "the other receives it", 120_000);
    expect(await queued()).to.equal(most);
    expect(await deliveriesOf(owner, id, "first: 1, state: DELIVERED")).to.deep.equal([]);
    await eventually(() => usual.received.length >= most + 1, "the other has all", 240_000);

    const living = await EventReceiver.open(port);
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: true });
    await changeEndpoint(owner, "updateEventEndpoint", { id, paused: false });
    await setTimes(w, "event_endpoints", { id }, { feed_at: "-1 s" });
    await eventually(
      async () => new Set(living.received.map((message) => message.id)).size >= most + 1,
      "all arrive",
      240_000,
    );
    expect(living.seen).to.include.members(["group.create first", "group.create copy 9999", "group.create beyond"]);
    expect(await countRows(w, "event_deliveries", { endpoint_id: id })).to.equal(most + 1);
    await living.close();
    await usual.close();
  });
});
