import { type Goal, judge, type Row, showRatios } from "./report.js";
import type { Run } from "./run.js";
import { median } from "./statistics.js";

/** What one contestant did in one round. */
export interface Score {
  /** Microseconds of CPU time of the server process per request, frame or the like. */
  cpu: number;
  perSecond: number;
}

/** Two contestants to compare by CPU. */
export interface Pair {
  of: string;
  against: string;
  goal?: Goal;
}

/** What each contestant did in a round, by name. */
export type Round = ReadonlyMap<string, Score>;

/** Lets contestants play some rounds, and compares them within each round. */
export async function holdRounds<Contestant extends { name: string }>(
  title: string,
  contestants: readonly Contestant[],
  pairs: readonly Pair[],
  play: (contestants: readonly Contestant[], run: Run) => Promise<Round>,
  run: Run,
): Promise<Row[]> {
  const rounds: Round[] = [];
  for (let nr = 1; nr <= run.rounds; nr++) {
    const progress = (text: string) => run.progress(`${title}: round ${nr} of ${run.rounds}, ${text}`);
    // Every other round goes backwards: who is late in one is early in the next.
    rounds.push(await play(nr % 2 ? contestants : contestants.toReversed(), { ...run, progress }));
  }
  return [
    ...contestants.map(({ name }) => contestantRow(title, name, rounds)),
    ...pairs.map((pair) => pairRow(title, pair, rounds)),
  ];
}

const scores = (rounds: readonly Round[], name: string) => rounds.map((round) => round.get(name)!);

function contestantRow(bench: string, name: string, rounds: readonly Round[]): Row {
  const own = scores(rounds, name);
  const cpu = median(own.map((score) => score.cpu));
  return {
    bench,
    what: name,
    perSecond: median(own.map(({ perSecond }) => perSecond)),
    cost: `${cpu.toFixed(cpu < 10 ? 1 : 0)} µs CPU`,
  };
}

function pairRow(bench: string, { of, against, goal }: Pair, rounds: readonly Round[]): Row {
  const theirs = scores(rounds, against);
  const ratios = scores(rounds, of).map(({ cpu }, nr) => cpu / theirs[nr]!.cpu);
  return {
    bench,
    what: `${of} vs ${against}`,
    ratio: showRatios(ratios),
    ...(goal && judge(median(ratios), goal, "×")),
  };
}
