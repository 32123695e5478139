// The slots that transactions wait for, when callers give up and connections fail.
import { expect } from "chai";
import { mock } from "node:test";
import { Pool } from "pg";
import { Database, statement } from "../src/domain/kernel/database.js";
import { Slots } from "../src/domain/kernel/slots.js";
import { world } from "./support/world.js";

describe("slots", () => {
  afterEach(() => mock.timers.reset());

  const settled = () => new Promise(setImmediate);
  const order: string[] = [];
  const taking = (slots: Slots, who: string) =>
    slots.take()!.then(
      () => void order.push(`${who} takes`),
      (error: Error) => void order.push(`${who}: ${error.message}`),
    );

  it("go to the callers still waiting, in order", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const slots = new Slots(1);
    expect(slots.take()).to.equal(undefined);
    void taking(slots, "first");
    mock.timers.tick(1_000);
    void taking(slots, "second");
    void taking(slots, "third");
    mock.timers.tick(4_000);
    slots.give();
    mock.timers.tick(999);
    slots.give();
    await settled();
    expect(order).to.deep.equal(["first: The service is temporarily unavailable.", "second takes", "third takes"]);
    slots.give();
    expect(slots.take(), "one slot is free").to.equal(undefined);
    void taking(slots, "last");
    slots.give();
    await settled();
    expect(order.at(-1), "no second slot is free").to.equal("last takes");
  });
});

describe("a database that is unreachable", () => {
  const the = world();

  it("frees the slots of transactions that could not begin", async () => {
    const unreachable = new URL(the().database.url);
    unreachable.port = "1";
    const pool = new Pool({ connectionString: unreachable.href, max: 2 });
    const database = new Database(the().app.services.database.orm, pool, the().app.services.log);
    const begin = () =>
      database
        .transaction()
        .query(statement("select 1"), [])
        .catch((error: { code?: string }) => error.code);
    for (let attempt = 1; attempt <= 3; attempt++) expect(await begin(), `attempt ${attempt}`).to.equal("ECONNREFUSED");
    await pool.end();
  });
});
