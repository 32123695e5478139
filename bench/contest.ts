import { type Load, LoadGenerator } from "./load.js";
import type { Row } from "./report.js";
import type { ServerProcess } from "./process.js";
import { holdRounds, type Pair, type Round, type Score } from "./rounds.js";
import type { Run, Start } from "./run.js";
import { median } from "./statistics.js";

/** A server and what it is asked. */
export interface Contestant {
  name: string;
  start: Start;
  load: Load;
  /** Brings an answer into the spelling in which all contestants must agree. */
  spell?: (body: string) => string;
}

export interface Contest {
  title: string;
  contestants: Contestant[];
  pairs: Pair[];
}

/** Compares servers that answer the same question. */
export async function hold({ title, contestants, pairs }: Contest, run: Run): Promise<Row[]> {
  await requireSameAnswers(title, contestants, run);
  return holdRounds(title, contestants, pairs, play, run);
}

/** Pieces of a measurement. Contestants take turns, so that what else goes on in the machine meets all of them. */
const slices = 10;

async function play(contestants: readonly Contestant[], run: Run): Promise<Round> {
  await using servers = new AsyncDisposableStack();
  const players: Player[] = [];
  for (const { name, start, load } of contestants) {
    run.progress(`warming up ${name}`);
    const player = new Player(name, servers.use(await start(run)), load);
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
  ) {}

  async measure(milliseconds: number): Promise<Score> {
    // Connections of its own: servers close those that wait for their turn.
    using generator = await LoadGenerator.open(this.server.url, this.load);
    const before = await this.server.usage();
    const { requests, seconds } = await generator.run(milliseconds);
    const after = await this.server.usage();
    return { cpu: (after.cpu - before.cpu) / requests, perSecond: requests / seconds };
  }

  /** The median of the pieces: what hits one of them alone does not count. */
  get score(): Score {
    return {
      cpu: median(this.scores.map(({ cpu }) => cpu)),
      perSecond: median(this.scores.map(({ perSecond }) => perSecond)),
    };
  }
}

async function requireSameAnswers(title: string, contestants: readonly Contestant[], run: Run): Promise<void> {
  let expected: { name: string; answer: string } | undefined;
  for (const { name, start, load, spell = String } of contestants) {
    run.progress(`${title}: the answer of ${name}`);
    await using server = await start(run);
    using generator = await LoadGenerator.open(server.url, load);
    const [body] = await generator.each();
    const answer = spell(body!);
    expected ??= { name, answer };
    if (answer !== expected.answer) {
      throw new Error(`Different responses.\n${shown(expected)}\n${shown({ name, answer })}`);
    }
  }
}

/** As much of a response as shows where it differs without filling the screen. */
const shown = ({ name, answer }: { name: string; answer: string }) => `${name}: ${answer.slice(0, 1_000)}`;
