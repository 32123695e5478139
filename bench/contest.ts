import { type Cost, measureCost, showCosts, total } from "./cost.js";
import type { CpuMeter } from "./cpu.js";
import { type Load, LoadGenerator } from "./load.js";
import type { ServerProcess } from "./process.js";
import { type Goal, judgeInterval, type Row, showInterval } from "./report.js";
import { type Bench, isChosen, type Run, type Start } from "./run.js";
import { median, ratioInterval } from "./statistics.js";

/** A server and the requests it gets. */
export interface Contestant {
  name: string;
  start: Start;
  load: Load;
  /** Normalizes a response: all contestants must agree on the result. */
  spell?: (body: string) => string;
  /** The goal of its ratios. */
  goal?: Goal;
}

/** The figures of one contestant in one round. */
interface Score extends Cost {
  perSecond: number;
}

/** The figures of each contestant in a round, by name. */
type Round = ReadonlyMap<string, Score>;

/** Each of `ours` is compared with each of `others`. */
export interface Contest {
  title: string;
  others: Contestant[];
  ours: Contestant[];
}

/** A bench of contests on a database that `prepare` changes for them. Loads continue where they ended: they are made for a run. */
export const contestBench = (
  name: string,
  contests: () => Contest[],
  prepare: (run: Run) => Promise<AsyncDisposable | undefined> = () => Promise.resolve(undefined),
): Bench => ({
  name,
  method: usualMethod,
  async measure(run) {
    await using prepared = new AsyncDisposableStack();
    prepared.use(await prepare(run));
    const rows: Row[] = [];
    for (const contest of contests()) if (isChosen(run, contest.title)) rows.push(...(await hold(contest, run)));
    return rows;
  },
});

/** How contests are run, and what their figures mean. */
const usualMethod = ({ rounds, mostRounds, warmUp, measure }: Run): string =>
  `Server, load and Postgres share the machine over loopback. Every round starts each contestant as a fresh process, warms it up
for ${warmUp / 1_000} s and measures ${measure / 1_000} s of it in pieces, all of them taking turns, so that what else goes on in the machine meets all
alike, and their median counts; ${rounds} rounds, and up to ${mostRounds} while a verdict is undecided. Costs are medians of the rounds: CPU per
request of the server process and of all processes of the Postgres cluster, from the nanoseconds of schedstat, as sum (server +
Postgres). Ratios are of these sums, paired within a round, as geometric mean with its 95 % confidence interval; a verdict takes
all of the interval. Contestants of a bench responded alike before it began.`;

/**
 * Compares servers that give the same response to equivalent requests, within each round. Runs rounds until every goal is
 * decided.
 */
async function hold({ title, others, ours }: Contest, run: Run): Promise<Row[]> {
  const contestants = [...others, ...ours];
  await requireSameResponses(title, contestants, run);
  const rounds: Round[] = [];
  const pairRows = () => ours.flatMap((own) => others.map((other) => pairRow(title, own, other, rounds)));
  const isDecided = () => pairRows().every(({ verdict }) => verdict !== "undecided");
  for (let nr = 1; nr <= run.rounds || (nr <= run.mostRounds && !isDecided()); nr++) {
    const progress = (text: string) => run.progress(`${title}: round ${nr} of ${run.rounds} or more, ${text}`);
    // Every other round runs in reverse order, so that contestants alternate between early and late.
    rounds.push(await play(nr % 2 ? contestants : contestants.toReversed(), { ...run, progress }));
  }
  return [...contestants.map(({ name }) => contestantRow(title, name, rounds)), ...pairRows()];
}

const scores = (rounds: readonly Round[], name: string) => rounds.map((round) => round.get(name)!);

function contestantRow(bench: string, name: string, rounds: readonly Round[]): Row {
  const own = scores(rounds, name);
  return { bench, what: name, perSecond: median(own.map(({ perSecond }) => perSecond)), cost: showCosts(own) };
}

function pairRow(bench: string, own: Contestant, other: Contestant, rounds: readonly Round[]): Row {
  const theirs = scores(rounds, other.name);
  const interval = ratioInterval(scores(rounds, own.name).map((score, nr) => total(score) / total(theirs[nr]!)));
  const ratio = `${showInterval(interval)}, ${rounds.length} rounds`;
  const goal = own.goal ?? other.goal;
  return { bench, what: `${own.name} vs ${other.name}`, ratio, ...(goal && judgeInterval(interval, goal)) };
}

/** Pieces of a measurement. Contestants take turns, so that other load on the machine affects all of them. */
const slices = 6;

async function play(contestants: readonly Contestant[], run: Run): Promise<Round> {
  await using servers = new AsyncDisposableStack();
  const players: Player[] = [];
  for (const { name, start, load } of contestants) {
    run.progress(`warming up ${name}`);
    const player = new Player(name, servers.use(await start(run)), load, run.postgres);
    await player.measure(run.warmUp);
    players.push(player);
  }
  run.progress("measuring");
  for (let slice = 0; slice < slices; slice++) {
    for (const player of slice % 2 ? players.toReversed() : players) {
      player.scores.push(await player.measure(run.measure / slices));
    }
  }
  return new Map(players.map((player) => [player.name, player.score]));
}

class Player {
  /** Of each piece. */
  readonly scores: Score[] = [];

  constructor(
    readonly name: string,
    private readonly server: ServerProcess,
    private readonly load: Load,
    private readonly postgres: CpuMeter,
  ) {}

  async measure(milliseconds: number): Promise<Score> {
    // Connections of its own, because servers close idle ones while the others have their turn.
    using generator = await LoadGenerator.open(this.server.url, this.load);
    const stop = measureCost(this.server, this.postgres);
    const { requests, seconds } = await generator.run(milliseconds);
    return { ...stop(requests), perSecond: requests / seconds };
  }

  /** The median of the pieces, so that a disturbance of one piece does not count. */
  get score(): Score {
    return {
      server: median(this.scores.map(({ server }) => server)),
      postgres: median(this.scores.map(({ postgres }) => postgres)),
      perSecond: median(this.scores.map(({ perSecond }) => perSecond)),
    };
  }
}

async function requireSameResponses(title: string, contestants: readonly Contestant[], run: Run): Promise<void> {
  let expected: { name: string; response: string } | undefined;
  for (const { name, start, load, spell = String } of contestants) {
    run.progress(`${title}: response of ${name}`);
    await using server = await start(run);
    using generator = await LoadGenerator.open(server.url, load);
    const [body] = await generator.each();
    const response = spell(body!);
    expected ??= { name, response };
    if (response !== expected.response) {
      throw new Error(`Different responses.\n${shown(expected)}\n${shown({ name, response })}`);
    }
  }
}

/** As much of a response as shows where it differs without filling the screen. */
const shown = ({ name, response }: { name: string; response: string }) => `${name}: ${response.slice(0, 1_000)}`;
