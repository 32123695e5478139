// Servers that deliver events are killed, while others record further ones.
// Reaches for tables: whether all is delivered, and times that no test waits for.
import { expect } from "chai";
import { EventReceiver, makeEndpoint, toThisMachine } from "../support/event-receiver.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { countRows, setTimes } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { Client, startWorld, type World } from "../support/world.js";

/** With STEWARD_TEST_CHAOS, as many crashes as the specification asks for. */
const crashes = process.env.STEWARD_TEST_CHAOS ? 20 : 3;

describe("events of servers that are killed", () => {
  let w: World;
  let receivers: EventReceiver[] = [];
  let replicas: ServerProcess[] = [];

  before(async () => {
    w = await startWorld(toThisMachine);
    receivers = await Promise.all([EventReceiver.open(), EventReceiver.open(), EventReceiver.open()]);
  });
  after(async () => {
    for (const { child } of replicas) child.kill("SIGKILL");
    await Promise.all(replicas.map(({ ended }) => ended));
    await Promise.all(receivers.map((receiver) => receiver.close()));
    await w.database.drop();
  });

  it("all arrive, and none twice but with the same id", async function () {
    this.timeout(900_000);
    const ada = await w.user("ada");
    const [usual, late, faulty] = receivers as [EventReceiver, EventReceiver, EventReceiver];
    for (const { url } of receivers) await makeEndpoint(w, url, { eventTypes: ["organization.update"] });
    await w.app.close();
    // One responds late, so that servers are killed in between, and one rejects every third message.
    late.respond = (_, response) => void setTimeout(() => response.writeHead(200).end(), 100);
    faulty.respond = (_, response) => void response.writeHead(faulty.received.length % 3 === 0 ? 500 : 200).end();
    const settings = {
      ...toThisMachine,
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_BUILTIN_DAEMON: "false",
      STEWARD_DATABASE_POOL: "6",
    };
    const place = w.database.url;
    replicas = await Promise.all([spawnServer(settings), spawnServer(settings)]);
    const recorded: string[] = [];
    const stopping = new AbortController();
    const write = async (part: number) => {
      for (let count = 0; !stopping.signal.aborted; count++) {
        // Deliveries stop while the leases of a server that is gone last: otherwise, what is recorded meanwhile takes minutes.
        const isFarAhead = () => !stopping.signal.aborted && recorded.length > late.received.length + 500;
        await eventually(() => !isFarAhead(), "what was recorded is delivered", 60_000);
        const description = `${part} ${count} ${ada.username}`;
        const { url } = replicas[count % replicas.length]!;
        const changed = await new Client(url, w.owner.token)
          .graphql(
            `mutation($description: String!) { updateOrganization(input: { organization: "default", description: $description }) { organization { id } } }`,
            { description },
          )
          .catch(() => undefined);
        if (changed) recorded.push(description);
      }
    };
    const running = [write(0), write(1)];
    for (let crash = 1; crash <= crashes; crash++) {
      const [{ length: written }, { length: sent }] = [recorded, late.received];
      const isAtWork = () => recorded.length > written + 20 && late.received.length > sent + 10;
      await eventually(isAtWork, "events are recorded and delivered", 60_000);
      const victim = replicas.pop()!;
      victim.child.kill("SIGKILL");
      await victim.ended;
      replicas.push(await spawnServer(settings));
    }
    stopping.abort();
    await Promise.all(running);
    await eventually(async () => (await countRows(place, "audit_number_queue")) === 0, "all are numbered", 60_000);
    // Neither the lease of a server that is gone nor the delay after a failure.
    const hurry = (where: Record<string, unknown>) =>
      setTimes(place, "event_deliveries", where, { next_attempt_at: "-1 s" }).catch(() => {});
    await hurry({ state: "leased" });
    const isDelivered = async () => {
      if ((await countRows(place, "event_deliveries", { state: ["pending", "leased"] })) === 0)
        // Events are queued for each endpoint by itself.
        return receivers.every((receiver) => recorded.every((text) => has(receiver, text)));
      await hurry({ state: "pending", failures: Array.from({ length: 20 }, (_, nr) => nr + 1) });
      return false;
    };
    await eventually(isDelivered, "all is delivered", 120_000);

    for (const receiver of receivers) {
      expect(recorded.filter((text) => !has(receiver, text))).to.deep.equal([]);
      const bodies = Map.groupBy(receiver.received, ({ id }) => id);
      for (const [id, all] of bodies) expect(new Set(all.map(({ text }) => text)).size, id).to.equal(1);
      const descriptions = Array.from(bodies.values(), ([first]) => descriptionOf(first!.body));
      expect(new Set(descriptions).size).to.equal(descriptions.length);
    }
    expect(new Set(usual.received.map(({ id }) => id)).size).to.equal((await countRows(place, "event_deliveries")) / 3);
  });
});

// oxlint-disable-next-line typescript/no-explicit-any -- the body of a message
const descriptionOf = (body: any): string => body.data.changes.description.new as string;

const has = ({ received }: EventReceiver, description: string): boolean =>
  received.some(({ body }) => descriptionOf(body) === description);
