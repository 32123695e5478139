import { measureCost } from "./cost.js";
import type { CpuMeter } from "./cpu.js";
import { type Load, LoadGenerator } from "./load.js";
import type { Row } from "./report.js";
import type { ServerProcess } from "./process.js";
import { holdRounds, type Pair, type Round, type Score } from "./rounds.js";
import type { Run, Start } from "./run.js";
import { median } from "./statistics.js";

/** A server and the requests it gets. */
export interface Contestant {
  name: string;
  start: Start;
  load: Load;
  /** Normalizes a response: all contestants must agree on the result. */
  spell?: (body: string) => string;
}

export interface Contest {
  title: string;
  contestants: Contestant[];
  pairs: Pair[];
}

/** Compares servers that give the same response to equivalent requests. */
export async function hold({ title, contestants, pairs }: Contest, run: Run): Promise<Row[]> {
  await requireSameResponses(title, contestants, run);
  return holdRounds(title, contestants, pairs, play, run);
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
