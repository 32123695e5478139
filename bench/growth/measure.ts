import { setTimeout } from "node:timers/promises";
import { type Cost, measureCost, total } from "../cost.js";
import type { CpuMeter } from "../cpu.js";
import { LoadGenerator } from "../load.js";
import type { ServerProcess } from "../process.js";
import { judgeInterval, type Row, showInterval } from "../report.js";
import { median, type Interval, ratioInterval } from "../statistics.js";
import type { Case } from "./case.js";
import type { SizeName } from "./size.js";

const goal = { limit: 2, aim: 1.3 };

/** Milliseconds of Postgres up to which a request of the large database may cost more than that: one with several filters, and any other. */
const affordable = { combined: 30, single: 5 };

/** Target duration of a batch in milliseconds, and its maximum number of requests. */
const batchTime = 15;
const largestBatch = 20;

/** Milliseconds after a single request until its cost is read. */
const settling = 5;

/** Minimum of batches per size, even if slow, and maximum while the verdict is undecided. */
const batches = { least: 5, leastLate: 3, most: 15 };

/** Milliseconds for a case, both sizes together, after which it gets no batches beyond the minimum. */
const timeout = 1_500;

/** The servers on the databases of each size. */
export type Sites = Readonly<Record<SizeName, ServerProcess>>;

export interface Result {
  costs: Record<SizeName, Cost[]>;
  /** Length of a response. */
  bytes: Record<SizeName, number>;
  interval: Interval;
}

/** Sends the request of a case to both servers in turn, in batches, and compares the costs of adjacent ones. */
export async function measure(
  sites: Sites,
  requests: Readonly<Record<SizeName, string>>,
  postgres: CpuMeter,
): Promise<Result> {
  const small = new Asker(sites.small, requests.small, postgres);
  const large = new Asker(sites.large, requests.large, postgres);
  const since = performance.now();
  await small.warmUp();
  await large.warmUp();
  const result = { costs: { small: [] as Cost[], large: [] as Cost[] }, interval: ratioInterval([]) };
  for (let nr = 1; nr <= batches.most; nr++) {
    const isLate = performance.now() - since > timeout;
    if (nr > (isLate ? batches.leastLate : batches.least) && (isLate || isDecided(result.interval))) break;
    for (const asker of nr % 2 ? [small, large] : [large, small])
      result.costs[asker === small ? "small" : "large"].push(await asker.batch());
    result.interval = ratioInterval(result.costs.large.map((cost, at) => total(cost) / total(result.costs.small[at]!)));
  }
  return { ...result, bytes: { small: small.bytes, large: large.bytes } };
}

const isDecided = (interval: Interval) => judgeInterval(interval, goal).verdict !== "undecided";

/** Sends the same request repeatedly. */
class Asker {
  bytes = 0;
  #batch = 1;

  constructor(
    private readonly server: ServerProcess,
    private readonly request: string,
    private readonly postgres: CpuMeter,
  ) {}

  /** Compiles, prepares, fills caches, and determines how many requests make a batch. */
  async warmUp(): Promise<void> {
    using generator = await this.#connect();
    const times: number[] = [];
    const since = performance.now();
    while (times.length < largestBatch && (times.length < 2 || performance.now() - since < 10 * batchTime)) {
      const begun = performance.now();
      const [body] = await generator.each();
      this.bytes = body!.length;
      times.push(performance.now() - begun);
      if (times[0]! > timeout) break;
    }
    this.#batch = Math.min(largestBatch, Math.ceil(batchTime / median(times)));
  }

  /**
   * Measures a batch. Repeats it if it seems to have cost nothing: when a process of Postgres ends, its time is rounded
   * down to ticks of 10 ms.
   */
  async batch(): Promise<Cost> {
    for (;;) {
      const cost = await this.#measured();
      if (total(cost) > 0) return cost;
    }
  }

  /** Sends the requests of a batch. */
  async #measured(): Promise<Cost> {
    using generator = await this.#connect();
    const stop = measureCost(this.server, this.postgres);
    for (let nr = 0; nr < this.#batch; nr++) await generator.each();
    // The kernel adds up the time of a process when it stops running, which it may not have yet.
    if (this.#batch === 1) await setTimeout(settling);
    return stop(this.#batch);
  }

  /** Opens a new connection, because servers close idle ones while the other has its turn. */
  #connect(): Promise<LoadGenerator> {
    return LoadGenerator.open(this.server.url, { connections: 1, request: () => this.request });
  }
}

const milliseconds = (costs: readonly Cost[]) =>
  `${(median(costs.map(total)) / 1_000).toFixed(2)} ms (Postgres ${(median(costs.map(({ postgres }) => postgres)) / 1_000).toFixed(2)})`;

/** How many times longer the response of the large database is; 1 if it is hardly longer. */
function growthOfResponse({ bytes }: Result): number {
  const factor = bytes.large / bytes.small;
  return factor > 1.2 ? factor : 1;
}

/** Costs, ratio, and verdict. Costs that grow with the response are judged per byte. */
export function rowOf(
  result: Result,
  { isDeep, isCombined }: Pick<Case, "isDeep" | "isCombined">,
): Omit<Row, "bench" | "what"> {
  const { costs, interval } = result;
  const factor = growthOfResponse(result);
  const perByte = { middle: interval.middle / factor, low: interval.low / factor, high: interval.high / factor };
  const most = isCombined ? affordable.combined : affordable.single;
  const isAffordable = median(costs.large.map(({ postgres }) => postgres)) <= most * 1_000;
  const judged = judgeInterval(perByte, goal);
  const verdict = isAffordable && judged.verdict !== "aim reached" ? "met" : judged.verdict;
  const response = factor > 1 ? `; response ${factor.toFixed(1)} × as long` : "";
  return {
    cost: `${milliseconds(costs.small)} → ${milliseconds(costs.large)}${response}`,
    ratio: showInterval(interval),
    ...(!isDeep && { goal: `${judged.goal}; or ${most} ms of Postgres`, verdict }),
  };
}
