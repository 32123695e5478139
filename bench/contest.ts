import { type Load, LoadGenerator } from "./load.js";
import type { Row } from "./report.js";
import type { ServerProcess } from "./process.js";
import { holdRounds, type Pair, type Round } from "./rounds.js";
import type { Run, Start } from "./run.js";

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
  return holdRounds(title, contestants, pairs, (those, progress) => play(those, { ...run, progress }), run);
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
    player.forget();
    players.push(player);
  }
  run.progress("measuring");
  for (let slice = 0; slice < slices; slice++) {
    for (const player of slice % 2 ? players.toReversed() : players) await player.measure(run.measure / slices);
  }
  return new Map(players.map((player) => [player.name, player.score]));
}

class Player {
  #cpu = 0;
  #requests = 0;
  #seconds = 0;

  constructor(
    readonly name: string,
    private readonly server: ServerProcess,
    private readonly load: Load,
  ) {}

  forget(): void {
    this.#cpu = this.#requests = this.#seconds = 0;
  }

  async measure(milliseconds: number): Promise<void> {
    // Connections of its own: servers close those that wait for their turn.
    using generator = await LoadGenerator.open(this.server.url, this.load);
    const before = await this.server.usage();
    const { requests, seconds } = await generator.run(milliseconds);
    const after = await this.server.usage();
    this.#cpu += after.cpu - before.cpu;
    this.#requests += requests;
    this.#seconds += seconds;
  }

  get score() {
    return { cpu: this.#cpu / this.#requests, perSecond: this.#requests / this.#seconds };
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
      throw new Error(`Different answers.\n${expected.name}: ${expected.answer}\n${name}: ${answer}`);
    }
  }
}
