// Servers that number audit events are killed, while others record further ones and a reader follows.
import { once } from "node:events";
import { expect } from "chai";
import { readAllNumbered, readAuditStream, type Streamed } from "../support/audit-stream.js";
import { type ServerProcess, spawnServer } from "../support/process.js";
import { countRows } from "../support/tables.js";
import { eventually } from "../support/watchers.js";
import { Client, startWorld, type World } from "../support/world.js";

/** With STEWARD_TEST_CHAOS, as many crashes as the specification asks for. */
const crashes = process.env.STEWARD_TEST_CHAOS ? 20 : 3;

// Reaches for tables: events without a number, and how many events there are.
describe("the stream of the audit log from servers that are killed", () => {
  let w: World;
  let replicas: ServerProcess[] = [];

  before(async () => {
    w = await startWorld();
  });
  after(async () => {
    for (const { child } of replicas) child.kill("SIGKILL");
    await Promise.all(replicas.map(({ ended }) => ended));
    await w.database.drop();
  });

  it("loses no event, and sends none twice", async function () {
    this.timeout(900_000);
    const ada = await w.user("ada");
    await w.app.close();
    const settings = {
      STEWARD_DATABASE_URL: w.database.url,
      STEWARD_BUILTIN_DAEMON: "false",
      STEWARD_DATABASE_POOL: "6",
    };
    const place = w.database.url;
    replicas = await Promise.all([spawnServer(settings), spawnServer(settings)]);
    const recorded: string[] = [];
    const stopping = new AbortController();
    const stopped = once(stopping.signal, "abort");
    const write = async (part: number) => {
      for (let count = 0; !stopping.signal.aborted; count++) {
        const name = `${part} ${count}`;
        const { url } = replicas[count % replicas.length]!;
        const renamed = await new Client(url, w.owner.token)
          .graphql(`mutation { updateUser(input: { user: "${ada.id}", name: "${name}" }) { user { id } } }`)
          .catch(() => undefined);
        if (renamed) recorded.push(name);
      }
    };
    const received: Streamed[] = [];
    const cursor = () => {
      const last = received.at(-1);
      return last ? `${last.number}-${last.event.id}` : "0";
    };
    /** Follows one server after the other. */
    const follow = async () => {
      while (!stopping.signal.aborted) {
        const { url } = replicas.at(-1)!;
        const reader = await readAuditStream(url, w.owner.token, { query: `?since=${cursor()}` }).catch(
          () => undefined,
        );
        if (!reader) continue;
        await Promise.race([reader.ended, stopped]);
        reader.close();
        await reader.ended;
        received.push(...reader.items);
      }
    };
    const running = [write(0), write(1), write(2), follow()];
    for (let crash = 1; crash <= crashes; crash++) {
      const { length } = recorded;
      await eventually(() => recorded.length > length + 30, "events are recorded", 60_000);
      const victim = replicas.pop()!;
      victim.child.kill("SIGKILL");
      await victim.ended;
      replicas.push(await spawnServer(settings));
    }
    stopping.abort();
    await Promise.all(running);
    await eventually(async () => (await countRows(place, "audit_number_queue")) === 0, "all are numbered", 60_000);
    const { url } = replicas[0]!;
    received.push(...(await readAllNumbered(url, w.owner.token, cursor())));

    const numbers = received.map(({ number }) => number);
    expect(numbers).to.deep.equal(numbers.map((_, nr) => nr + 1));
    const ids = received.map(({ event }) => event.id);
    expect(new Set(ids).size)
      .to.equal(ids.length)
      .and.to.equal(await countRows(place, "audit_numbers"));
    const names = new Set(received.map(({ event }) => event.diff.name?.new));
    expect(recorded.filter((name) => !names.has(name))).to.deep.equal([]);
  });
});
