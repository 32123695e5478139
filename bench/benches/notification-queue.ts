import { measureCost } from "../cost.js";
import { ServerProcess } from "../process.js";
import type { Goal } from "../report.js";
import { holdRounds, type Round, type Score } from "../rounds.js";
import { type Bench, type Run, type Start, startScript } from "../run.js";

/** Messages of a measurement, after those that warm up. */
const messages = { warmUp: 3_000, measured: 6_000 };

/** At least twice the rate of pg-boss at the same cost, and six times if possible. */
const goal: Goal = { limit: 1 / 2, aim: 0.17 };

interface Contestant {
  name: string;
  start: Start;
}

const queue: Contestant = { name: "Steward, queue", start: startScript("floors/notification-queue.ts") };
const whole: Contestant = {
  name: "Steward, whole notification",
  start: ({ databaseUrl }) =>
    ServerProcess.start({
      script: "floors/notification-queue.ts",
      env: { BENCH_DATABASE_URL: databaseUrl, BENCH_WHOLE: "yes" },
    }),
};
const hanging: Contestant = {
  name: "Steward, queue, 1 % hang",
  start: ({ databaseUrl }) =>
    ServerProcess.start({
      script: "floors/notification-queue.ts",
      env: { BENCH_DATABASE_URL: databaseUrl, BENCH_HANGING: "yes" },
    }),
};
const boss: Contestant = { name: "pg-boss", start: startScript("peers/pg-boss.ts") };
const graphile: Contestant = { name: "graphile-worker", start: startScript("peers/graphile-worker.ts") };

async function play(contestants: readonly Contestant[], run: Run): Promise<Round> {
  const round = new Map<string, Score>();
  for (const { name, start } of contestants) {
    run.progress(name);
    await using server = await start(run);
    await work(server, messages.warmUp);
    const stop = measureCost(server, run.postgres);
    const seconds = await work(server, messages.measured);
    round.set(name, { ...stop(messages.measured), perSecond: messages.measured / seconds });
  }
  return round;
}

/** Returns the seconds from the first message to the record of the last one. */
async function work({ url }: ServerProcess, count: number): Promise<number> {
  const since = performance.now();
  const response = await fetch(url, { method: "POST", body: JSON.stringify({ count }) });
  if (response.status !== 204) throw new Error(await response.text());
  return (performance.now() - since) / 1_000;
}

/** The cost of a message from its transaction to the record that it was delivered. Nothing is sent. */
export const notificationQueueBench: Bench = {
  name: "notification-queue",
  measure(run) {
    const pairs = [
      { of: queue.name, against: boss.name, goal },
      { of: queue.name, against: graphile.name },
      { of: whole.name, against: boss.name },
    ];
    const title = "enqueue, dispatch and record";
    return holdRounds(title, [queue, whole, boss, graphile], pairs, play, run);
  },
};

/** The cost to other messages if the receiver never responds to some. */
export const hangingReceiverBench: Bench = {
  name: "notification-hanging",
  measure(run) {
    const pairs = [{ of: hanging.name, against: queue.name, goal: { limit: 1.1, aim: 1 } }];
    return holdRounds("a receiver that hangs", [queue, hanging], pairs, play, run);
  },
};
