// The same statement of several requests is committed in one transaction, and fails for each of them alone.
import { expect } from "chai";
import { pino } from "pino";
import { Database, statement } from "../src/domain/kernel/database.js";
import { createOrm } from "../src/entities/orm.js";
import { cloneDatabase } from "./support/cluster.js";

describe("statements that are committed together", () => {
  let database: Database;
  let give: () => Promise<void>;

  before(async () => {
    const fresh = await cloneDatabase();
    const created = createOrm({ url: fresh.url, pool: 5, statementTimeout: 5_000 });
    database = new Database(created.orm, created.pool, pino({ enabled: false }));
    await created.pool.query("create table notes (id int primary key, at xid8 not null default pg_current_xact_id())");
    give = async () => {
      await created.orm.close();
      await fresh.drop();
    };
  });
  beforeEach(() => database.pool.query("truncate notes"));
  after(() => give());

  const insert = statement<{ id: number; at: string }>("insert into notes (id) values ($1) returning id, at::text");
  const insertAll = (ids: readonly number[]) => Promise.allSettled(ids.map((id) => database.commit(insert, [id])));
  const stored = async () =>
    (await database.pool.query<{ id: number }>("select id from notes order by id")).rows.map(({ id }) => id);

  it("get their own rows, of one transaction for those of one turn", async () => {
    const ids = Array.from({ length: 16 }, (_, nr) => nr);
    const rows = (await Promise.all(ids.map((id) => database.commit(insert, [id])))).flat();
    expect(rows.map(({ id }) => id)).to.deep.equal(ids);
    expect(new Set(rows.map(({ at }) => at)).size).to.equal(1);
    expect(await stored()).to.deep.equal(ids);
    expect(database.pool).to.include({ idleCount: database.pool.totalCount, waitingCount: 0 });
  });

  it("fail independently", async () => {
    const outcomes = await insertAll([1, 2, 1, 3]);
    expect(outcomes.filter(({ status }) => status === "rejected")).to.have.length(1);
    expect(await stored()).to.deep.equal([1, 2, 3]);
    expect((await insertAll([4]))[0]!.status).to.equal("fulfilled");
    expect(database.pool.idleCount).to.equal(database.pool.totalCount);
  });

  it("are not repeated after a lost connection: one of them may have been committed", async () => {
    const suicide = statement<{ id: number }>(
      "select id, pg_terminate_backend(pg_backend_pid()) from (values ($1::int)) given (id)",
    );
    const outcomes = await Promise.allSettled([1, 2].map((id) => database.commit(suicide, [id])));
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect((await insertAll([1]))[0]!.status).to.equal("fulfilled");
  });

  it("wait shortly for others that wait for a lock, not for its release", async () => {
    const holder = await database.pool.connect();
    await holder.query("begin");
    await holder.query("insert into notes (id) values (1), (2)");
    const blocked = [insertAll([1])];
    await new Promise(setImmediate);
    blocked.push(insertAll([2]));
    await new Promise(setImmediate);
    expect((await insertAll([3]))[0]!.status).to.equal("fulfilled");
    await holder.query("rollback");
    holder.release();
    for (const [outcome] of await Promise.all(blocked)) expect(outcome!.status).to.equal("fulfilled");
    expect(await stored()).to.deep.equal([1, 2, 3]);
  });

  it("are committed in batches while others run", async () => {
    const outcomes = await insertAll(Array.from({ length: 100 }, (_, nr) => nr));
    expect(outcomes.every(({ status }) => status === "fulfilled")).to.equal(true);
    const { rows } = await database.pool.query<{ count: number }>("select count(distinct at)::int from notes");
    expect(rows[0]!.count).to.equal(7);
  });
});
