import { type Cost, showCosts, total } from "./cost.js";
import { type Goal, judgeInterval, type Row, showInterval } from "./report.js";
import type { Run } from "./run.js";
import { median, ratioInterval } from "./statistics.js";

/** The figures of one contestant in one round. */
export interface Score extends Cost {
  perSecond: number;
}

/** Two contestants to compare by CPU. */
export interface Pair {
  of: string;
  against: string;
  goal?: Goal;
}

/** The figures of each contestant in a round, by name. */
export type Round = ReadonlyMap<string, Score>;

/** Runs rounds until every goal is decided, and compares the contestants within each round. */
export async function holdRounds<Contestant extends { name: string }>(
  title: string,
  contestants: readonly Contestant[],
  pairs: readonly Pair[],
  play: (contestants: readonly Contestant[], run: Run) => Promise<Round>,
  run: Run,
): Promise<Row[]> {
  const rounds: Round[] = [];
  const isDecided = () => pairs.every((pair) => pairRow(title, pair, rounds).verdict !== "undecided");
  for (let nr = 1; nr <= run.rounds || (nr <= run.mostRounds && !isDecided()); nr++) {
    const progress = (text: string) => run.progress(`${title}: round ${nr} of ${run.rounds} or more, ${text}`);
    // Every other round runs in reverse order, so that contestants alternate between early and late.
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
  return { bench, what: name, perSecond: median(own.map(({ perSecond }) => perSecond)), cost: showCosts(own) };
}

function pairRow(bench: string, { of, against, goal }: Pair, rounds: readonly Round[]): Row {
  const theirs = scores(rounds, against);
  const interval = ratioInterval(scores(rounds, of).map((score, nr) => total(score) / total(theirs[nr]!)));
  const ratio = `${showInterval(interval)}, ${rounds.length} rounds`;
  return { bench, what: `${of} vs ${against}`, ratio, ...(goal && judgeInterval(interval, goal)) };
}
