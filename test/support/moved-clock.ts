// A server whose database shows the time that a test wants. It decides what is due and what has expired, so all that the
// server does by itself follows it.
// Looks inside: the server reads the clock of its database every ten seconds, which no test waits for.
import { Client } from "pg";
import { setDatabaseTime } from "../../src/runtime/clock.js";
import { readClock } from "../../src/domain/deployment/clock.js";
import { cloneDatabase } from "./cluster.js";
import { startWorldOn, type World } from "./world.js";

/** Functions that hide those of Postgres from sessions with the search path below. */
const movable = `
  create schema moved;
  create table moved.clock (ahead interval not null);
  insert into moved.clock values ('0');
  create function moved.now() returns timestamptz stable language sql
    as 'select pg_catalog.now() + ahead from moved.clock';
  create function moved.clock_timestamp() returns timestamptz volatile language sql
    as 'select pg_catalog.clock_timestamp() + ahead from moved.clock'`;

export interface MovedWorld {
  w: World;
  /** Moves the clock to a time, from which it goes on. */
  moveTo(time: number): Promise<void>;
  /** Closes the server, and gives this process its clock back. */
  close(): Promise<void>;
}

/** Starts a world whose clock can be moved, and moves it to a time. */
export async function startAt(time: number, changes: NodeJS.ProcessEnv = {}): Promise<MovedWorld> {
  const database = await cloneDatabase();
  const admin = new Client(database.url);
  await admin.connect();
  await admin.query(movable);
  const set = async (to: number) => {
    await admin.query("update moved.clock set ahead = to_timestamp($1::float8 / 1000) - clock_timestamp()", [to]);
  };
  await set(time);
  const url = new URL(database.url);
  url.searchParams.set("options", "-csearch_path=moved,pg_catalog,public");
  const w = await startWorldOn({ ...database, url: url.href }, { STEWARD_SESSION_DURATION: "30d", ...changes });
  return {
    w,
    async moveTo(to) {
      await set(to);
      await readClock(w.app.services);
    },
    async close() {
      await w.app.close();
      await admin.end();
      await database.drop();
      setDatabaseTime(Date.now());
    },
  };
}
