// A server is killed while it numbers an event and delivers another one. A second server goes on with both.
// Reaches for tables: the lock that stops the numbering in between, and a time that no test waits for.
import { expect } from "chai";
import { EventReceiver, makeEndpoint, toThisMachine } from "../support/event-receiver.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { lockRows, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { type Anything, Client, startWorld, type World } from "../support/world.js";

describe("events of a server that is killed", () => {
  let w: World;
  let receiver: EventReceiver;
  const servers: ServerProcess[] = [];

  before(async () => {
    w = await startWorld(toThisMachine);
    receiver = await EventReceiver.open();
  });
  after(async () => {
    for (const { child } of servers) child.kill("SIGKILL");
    await Promise.all(servers.map(({ ended }) => ended));
    await receiver.close();
    await w.database.drop();
  });

  it("are numbered and delivered by another one: none is lost, and what was on its way has the same id", async function () {
    this.timeout(300_000);
    await makeEndpoint(w, receiver.url, { eventTypes: ["organization.update"] });
    await w.app.close();
    const place = w.database.url;
    const settings = { ...toThisMachine, STEWARD_DATABASE_URL: place, STEWARD_BUILTIN_DAEMON: "false" };
    const start = async () => {
      const server = await spawnServer(settings);
      servers.push(server);
      return server;
    };
    const record = ({ url }: ServerProcess, description: string) =>
      new Client(url, w.owner.token).graphql(
        `mutation($description: String!) { updateOrganization(input: { organization: "default", description: $description }) { __typename } }`,
        { description },
      );
    const descriptionOf = (body: Anything) => body.data.changes.description.new as string;

    const first = await start();
    receiver.respond = () => {};
    await record(first, "on its way");
    await eventually(() => receiver.received.length > 0, "the first event arrives", 60_000);
    await lockRows(place, "audit_number_counter", { id: 1 }, async ({ awaited }) => {
      await record(first, "being numbered");
      await awaited();
      const second = await start();
      await record(second, "of the second");
      first.child.kill("SIGKILL");
      expect(await first.ended).to.equal("SIGKILL");
    });
    // An attempt of the first server may have ended without a response meanwhile.
    const { length: before } = receiver.received;
    receiver.respond = (_, response) => void response.writeHead(204).end();
    const all = ["on its way", "being numbered", "of the second"];
    const arrived = () => receiver.received.slice(before).map(({ body }) => descriptionOf(body));
    await eventually(async () => {
      // The leases of the first server end, and so do delays after a failure.
      await setTimes(place, "event_deliveries", { state: ["leased", "pending"] }, { next_attempt_at: "-1 s" }).catch(
        () => {},
      );
      return all.every((description) => arrived().includes(description));
    }, "the second server numbers and delivers all");
    const messages = Map.groupBy(receiver.received, ({ body }) => descriptionOf(body));
    expect([...messages.keys()]).to.have.members(all);
    for (const [description, same] of messages)
      expect(new Set(same.map(({ id, text }) => `${id} ${text}`)).size, description).to.equal(1);
    expect(new Set(receiver.received.map(({ body }) => body.sequence as number)).size).to.equal(3);
  });
});
