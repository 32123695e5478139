import { memberToken } from "../data.js";
import { watchesPerUser, watchPath } from "../inbox.js";
import { type Goal, judge, type Row } from "../report.js";
import { type Bench, type Run, type Start, startScript } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";
import { Watchers } from "../watchers.js";

const watchers = 10_000;

/** Watchers opened and closed before the measurement, so that code and pools do not count as memory of watchers. */
const first = 100;

interface Contestant {
  name: string;
  start: Start;
  goal?: Goal;
}

const contestants: Contestant[] = [
  { name: "raw ws", start: startScript("floors/frames.ts") },
  { name: "Steward", start: startSteward, goal: { limit: 20, aim: 12 } },
];

const tokens = Array.from({ length: watchers }, (_, nr) => memberToken(Math.floor(nr / watchesPerUser)));

/** Returns kilobytes of resident memory per idle watcher, with garbage collected before and after. */
async function measure({ start }: Contestant, run: Run): Promise<number> {
  await using server = await start(run);
  using warmUp = new Watchers(server.url, watchPath);
  await warmUp.open(tokens.slice(0, first));
  warmUp[Symbol.dispose]();
  const before = await server.usageCollected();
  using all = new Watchers(server.url, watchPath);
  await all.open(tokens);
  const after = await server.usageCollected();
  return (after.rss - before.rss) / watchers / 1_000;
}

async function row(contestant: Contestant, run: Run): Promise<Row> {
  const kilobytes: number[] = [];
  for (let nr = 1; nr <= run.rounds; nr++) {
    run.progress(`10,000 idle watchers: round ${nr} of ${run.rounds}, ${contestant.name}`);
    kilobytes.push(await measure(contestant, run));
  }
  const value = median(kilobytes);
  return {
    bench: "10,000 idle watchers",
    what: contestant.name,
    cost: `${value.toFixed(1)} kB each`,
    ...(contestant.goal && judge(value, contestant.goal, "kB")),
  };
}

export const watcherMemoryBench: Bench = {
  name: "watcher-memory",
  async measure(run) {
    const rows: Row[] = [];
    for (const contestant of contestants) rows.push(await row(contestant, run));
    return rows;
  },
};
