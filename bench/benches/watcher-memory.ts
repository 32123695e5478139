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

/** Kilobytes of resident memory per idle watcher, with garbage collected before and after. */
interface Kilobytes {
  /** Of all watchers, and of the memory that V8 reserves once for the garbage of opening them. */
  all: number;
  /** Of the second half: what each further watcher costs. */
  further: number;
}

async function measure({ start }: Contestant, run: Run): Promise<Kilobytes> {
  await using server = await start(run);
  using warmUp = new Watchers(server.url, watchPath);
  await warmUp.open(tokens.slice(0, first));
  warmUp[Symbol.dispose]();
  const before = await server.usageCollected();
  using all = new Watchers(server.url, watchPath);
  await all.open(tokens.slice(0, watchers / 2));
  const half = await server.usageCollected();
  await all.open(tokens.slice(watchers / 2));
  const after = await server.usageCollected();
  return {
    all: (after.rss - before.rss) / watchers / 1_000,
    further: (after.rss - half.rss) / (watchers / 2) / 1_000,
  };
}

async function rowsOf(contestant: Contestant, run: Run): Promise<Row[]> {
  const { name, goal } = contestant;
  const rounds: Kilobytes[] = [];
  for (let nr = 1; nr <= run.rounds; nr++) {
    run.progress(`10,000 idle watchers: round ${nr} of ${run.rounds}, ${name}`);
    rounds.push(await measure(contestant, run));
  }
  const row = (what: string, value: number): Row => ({
    bench: "10,000 idle watchers",
    what,
    cost: `${value.toFixed(1)} kB each`,
    ...(goal && judge(value, goal, "kB")),
  });
  return [
    row(name, median(rounds.map(({ all }) => all))),
    row(`${name}, each after the first 5,000`, median(rounds.map(({ further }) => further))),
  ];
}

export const watcherMemoryBench: Bench = {
  name: "watcher-memory",
  async measure(run) {
    const rows: Row[] = [];
    for (const contestant of contestants) rows.push(...(await rowsOf(contestant, run)));
    return rows;
  },
};
