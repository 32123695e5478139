// Lookups made in one turn of the event loop share connections, and nothing else.
import { expect } from "chai";
import { pino } from "pino";
import type { Pool } from "pg";
import { Database, lookup, statement } from "../src/domain/kernel/database.js";
import { Lookups } from "../src/domain/kernel/lookups.js";
import { createOrm } from "../src/entities/orm.js";
import { cloneDatabase } from "./support/cluster.js";

describe("lookups", () => {
  let database: Database;
  let pool: Pool;
  let give: () => Promise<void>;

  before(async () => {
    const fresh = await cloneDatabase();
    const created = createOrm({ url: fresh.url, pool: 5, statementTimeout: 1_000 });
    pool = created.pool;
    database = new Database(created.orm, pool, pino({ enabled: false }));
    give = async () => {
      await created.orm.close();
      await fresh.drop();
    };
  });
  after(() => give());

  const quotient = lookup<{ value: number }>("select 12 / $1::int as value");
  const process = lookup<{ pid: number }>("select pg_backend_pid() as pid");

  it("made in one turn share a connection, up to eight each, and get their own results", async () => {
    const values = [1, 2, 3, 4, 6, 12, 1, 2];
    const answers = await Promise.all(values.map((value) => database.query(quotient, [value])));
    expect(answers.map(([row]) => row!.value)).to.deep.equal(values.map((value) => 12 / value));
    expect(pool.totalCount).to.equal(1);

    const processes = await Promise.all(Array.from({ length: 17 }, () => database.query(process, [])));
    expect(new Set(processes.map(([row]) => row!.pid)).size).to.equal(3);
    expect(pool).to.include({ totalCount: 3, idleCount: 3, waitingCount: 0 });
  });

  it("fail independently", async () => {
    const outcomes = await Promise.allSettled([1, 0, 3].map((value) => database.query(quotient, [value])));
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["fulfilled", "rejected", "fulfilled"]);
    expect(pool.idleCount).to.equal(pool.totalCount);
  });

  it("fail together when their connection is lost, while later ones get a new connection", async () => {
    const suicide = lookup("select pg_terminate_backend(pg_backend_pid())");
    const doomed = [database.query(quotient, [1]), database.query(suicide, []), database.query(quotient, [2])];
    const outcomes = await Promise.allSettled(doomed);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["fulfilled", "rejected", "rejected"]);
    expect(await database.query(quotient, [4])).to.deep.equal([{ value: 3 }]);
    expect(pool.idleCount).to.equal(pool.totalCount);
  });

  it("fail when no connection is available", async () => {
    const blocked = await Promise.all(Array.from({ length: 5 }, () => pool.connect()));
    const [outcome] = await Promise.allSettled([database.query(quotient, [1])]);
    expect(outcome.status).to.equal("rejected");
    for (const client of blocked) client.release();
    expect(await database.query(quotient, [1])).to.deep.equal([{ value: 12 }]);
  });

  it("parse values as other statements do", async () => {
    const all = `select 1::int as "int", 2::bigint as "bigint", 1.5::numeric as "numeric", 'a'::text as "text",
      true as "yes", null::uuid as "nothing", '{a,b}'::text[] as "several", '{"a": [1]}'::json as "json",
      '\\x00ff'::bytea as "bytes", '2026-11-21T08:15:30.12Z'::timestamptz as "at" from generate_series(1, 2)`;
    const expected = await database.query(statement(all), []);
    expect(expected).to.have.length(2);
    const again = lookup(all);
    for (let time = 0; time < 2; time++) expect(await database.query(again, [])).to.deep.equal(expected);
  });

  it("return bytes that keep no memory but their own", async () => {
    const hash = `select sha256('a') as hash from generate_series(1, 2)`;
    for (const read of [statement<{ hash: Buffer }>(hash), lookup<{ hash: Buffer }>(hash)]) {
      for (const { hash: bytes } of await database.query(read, [])) expect(bytes.buffer.byteLength).to.equal(32);
    }
  });

  it("fail independently when a value cannot be parsed", async () => {
    const unreadable = () => {
      throw new Error("Unreadable.");
    };
    const lookups = new Lookups(pool, database.availability);
    const [first, second] = await Promise.allSettled([
      lookups.rows({ name: "unreadable", text: "select 1 as value", types: { getTypeParser: () => unreadable } }),
      lookups.rows({ name: "readable", text: "select 2 as value", types: { getTypeParser: () => Number } }),
    ]);
    expect(first).to.deep.include({ status: "rejected" });
    expect(second).to.deep.equal({ status: "fulfilled", value: [{ value: 2 }] });
    expect(pool.idleCount).to.equal(pool.totalCount);
  });

  it("work again after a migration changes the type of a column", async () => {
    await pool.query("create table changing as select '7' as value");
    const value = lookup("select value from changing");
    expect(await database.query(value, [])).to.deep.equal([{ value: "7" }]);
    await pool.query("alter table changing alter value type int using value::int");
    // Connections that prepared the statement fail to run it from now on; new ones prepare it again.
    const idle = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
    for (const client of idle) client.release(true);
    expect(await database.query(value, [])).to.deep.equal([{ value: 7 }]);
  });

  it("work again after a migration renames a column", async () => {
    await pool.query("create table renamed as select 7 as value");
    const all = lookup("select * from renamed");
    expect(await database.query(all, [])).to.deep.equal([{ value: 7 }]);
    await pool.query("alter table renamed rename value to number");
    const idle = await Promise.all(Array.from({ length: pool.totalCount }, () => pool.connect()));
    for (const client of idle) client.release(true);
    expect(await database.query(all, [])).to.deep.equal([{ number: 7 }]);
  });

  it("leave other statements on connections of their own", async () => {
    const slow = statement<{ pid: number }>("select pg_backend_pid() as pid from pg_sleep(0.05)");
    const processes = await Promise.all([database.query(slow, []), database.query(slow, [])]);
    expect(new Set(processes.map(([row]) => row!.pid)).size).to.equal(2);
  });
});
