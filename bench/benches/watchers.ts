import { setTimeout as sleep } from "node:timers/promises";
import { members, memberToken, sendCustom } from "../data.js";
import { type Cost, measureCost, showCosts } from "../cost.js";
import type { ServerProcess } from "../process.js";
import { judge, type Row } from "../report.js";
import type { Bench, Run } from "../run.js";
import { Clients } from "../scale/clients.js";
import { startSteward } from "../steward.js";
import { Watchers } from "../watchers.js";

const count = 2_000;

/** Megabytes of a server with so many watchers. */
const goal = { limit: 300, aim: 140 };

/** Notifications that are sent at a time. */
const concurrent = 16;

/** Milliseconds for the last of them to arrive. */
const timeout = 20_000;

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
    `The resident memory of one server, before and after ${count} members open a WebSocket, and after each got ${rounds} notifications;
and the median CPU of server and Postgres for a notification, from its request to its frame. Server, clients and Postgres share the
machine over loopback.`,
  async measure(run): Promise<Row[]> {
    let frames = 0;
    await using server = await startSteward(run);
    using watchers = new Watchers(() => frames++);
    const idle = server.memory;
    await watchers.open(
      server.url,
      Array.from({ length: count }, (_, nr) => memberToken(members - 1 - nr)),
    );
    const open = server.memory;
    const costs: Cost[] = [];
    for (let round = 1; round <= run.rounds; round++) {
      run.progress(`watchers: round ${round} of ${run.rounds}`);
      costs.push(await notifyAll(run, server, () => frames));
    }
    const memory = (what: string, bytes: number): Row => ({
      bench: "watchers",
      what,
      cost: `${megabytes(bytes)} MB RSS`,
    });
    return [
      memory("without watchers", idle),
      memory(`with ${count} watchers`, open),
      { ...memory("after notifications", server.memory), ...judge(megabytes(server.memory), goal, "MB") },
      { bench: "watchers", what: "a notification to its frame", cost: showCosts(costs) },
    ];
  },
};
