import { setTimeout as sleep } from "node:timers/promises";
import { members, memberToken, sendCustom } from "../data.js";
import { type Cost, measureCost, showCosts } from "../cost.js";
import type { ServerProcess } from "../process.js";
import { type Goal, judge, type Row } from "../report.js";
import type { Bench, Run } from "../run.js";
import { Clients } from "../scale/clients.js";
import { startSteward } from "../steward.js";
import { Watchers } from "../watchers.js";

const count = 2_000;

/** Megabytes of a server at rest: without watchers, and with so many. */
const goals = { idle: { limit: 180, aim: 140 }, watched: { limit: 300, aim: 200 } };

/** Notifications that are sent at a time. */
const concurrent = 16;

/** Milliseconds for the last of them to arrive. */
const timeout = 20_000;

/** Milliseconds after which a server with nothing to do has given back what it does not use. */
const rest = 40_000;

const megabytes = (bytes: number) => Number((bytes / 1e6).toFixed(0));

/** Sends each watcher a notification. Resolves to the cost of each, when all have arrived. */
async function notifyAll(run: Run, server: ServerProcess, arrived: () => number) {
  using clients = new Clients([server.url]);
  const end = arrived() + count;
  const pending = Array.from({ length: count }, (_, nr) => memberToken(members - 1 - nr));
  const stop = measureCost(server, run.postgres);
  const sendSome = async () => {
    for (let token = pending.pop(); token; token = pending.pop()) await clients.ask(sendCustom(token));
  };
  await Promise.all(Array.from({ length: concurrent }, sendSome));
  const late = performance.now() + timeout;
  while (arrived() < end) {
    if (performance.now() > late) throw new Error("Notifications do not arrive.");
    await sleep(5);
  }
  return stop(count);
}

/** The memory of a server whose users watch their inbox, and the cost of a notification that reaches one of them. */
export const watchersBench: Bench = {
  name: "watchers",
  method: ({ rounds }) =>
    `The resident memory of one server, before and after ${count} members open a WebSocket, and after each got ${rounds} notifications.
It is at rest when the server had nothing to do for ${rest / 1_000} s; just before, V8 keeps what it has not collected or given back.
The median CPU of server and Postgres for a notification, from its request to its frame. Server, clients and Postgres share the
machine over loopback.`,
  async measure(run): Promise<Row[]> {
    let frames = 0;
    await using server = await startSteward(run);
    using watchers = new Watchers(() => frames++);
    const rows: Row[] = [];
    const note = (what: string, goal?: Goal) => {
      const size = megabytes(server.memory);
      rows.push({ bench: "watchers", what, cost: `${size} MB RSS`, ...(goal && judge(size, goal, "MB")) });
    };
    const noteAtRest = async (what: string, goal: Goal) => {
      run.progress(`watchers: ${what}, at rest in ${rest / 1_000} s`);
      await sleep(rest);
      note(`${what}, at rest`, goal);
    };

    await noteAtRest("without watchers", goals.idle);
    await watchers.open(
      server.url,
      Array.from({ length: count }, (_, nr) => memberToken(members - 1 - nr)),
    );
    await noteAtRest(`with ${count} watchers`, goals.watched);
    const costs: Cost[] = [];
    for (let round = 1; round <= run.rounds; round++) {
      run.progress(`watchers: round ${round} of ${run.rounds}`);
      costs.push(await notifyAll(run, server, () => frames));
    }
    note("right after notifications");
    await noteAtRest("after notifications", goals.watched);
    return [...rows, { bench: "watchers", what: "a notification to its frame", cost: showCosts(costs) }];
  },
};
