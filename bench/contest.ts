import { type Load, LoadGenerator } from "./load.js";
import type { Row } from "./report.js";
import { holdRounds, type Pair, type Score } from "./rounds.js";
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
  return holdRounds(title, contestants, pairs, (contestant) => measure(contestant, run), run);
}

async function measure({ start, load }: Contestant, run: Run): Promise<Score> {
  await using server = await start(run);
  using generator = await LoadGenerator.open(server.url, load);
  await generator.run(run.warmUp);
  const before = await server.usage();
  const { requests, seconds } = await generator.run(run.measure);
  const after = await server.usage();
  return { cpu: (after.cpu - before.cpu) / requests, perSecond: requests / seconds };
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
