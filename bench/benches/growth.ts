import { setTimeout as sleep } from "node:timers/promises";
import { type Case } from "../growth/case.js";
import { casesOf } from "../growth/cases.js";
import { createDatabase } from "../growth/databases.js";
import { measure, rowOf, type Sites } from "../growth/measure.js";
import { quickLarge, type SizeName, sizeOf, sizes } from "../growth/size.js";
import { bodyOf, Connection } from "../connection.js";
import { withClient } from "../postgres.js";
import type { ServerProcess } from "../process.js";
import type { Row } from "../report.js";
import { type Bench, isChosen, type Run } from "../run.js";
import { startSteward } from "../steward.js";

const nameOf = ({ operation, role, what }: Case) => `${operation}, ${role}${what && `: ${what}`}`;

/** How much more every read costs in a database with a hundred times the rows. */
export const growthBench: Bench = {
  name: "growth",
  method:
    () => `Two databases of one cluster, filled by SQL: the small one has 1,000 users, 50 groups, 10,000 notifications, audit events
and connections each, 2,000 workspaces and 20 templates, the large one 100,000 users, 2,000 groups, one of them of 50,000 members, 1,000,000 notifications,
20,000 of one user unread, 1,000,000 audit events, 200,000 connections, 200,000 workspaces and 2,000 templates. Three in ten
workspaces run, and one in fifty has an agent that never connected. Servers of the same build get the same request,
one at a time and in turn; those in the middle of a list begin in the middle of that list. Costs are CPU per request of
server and Postgres together (and of Postgres alone), from the nanoseconds of schedstat, as medians of batches. Ratios are
of adjacent batches, large to small, as geometric mean with its 95 % confidence interval; a verdict takes all of the interval, divided by how many times as long
the response is. A case that costs
Postgres little in the large database meets its goal whatever the ratio is. Deep offsets have no goal.`,
  async measure(run) {
    await using servers = new AsyncDisposableStack();
    const start = async (name: SizeName, users: number) => {
      const databaseUrl = await createDatabase(`growth_${name}`, sizeOf(users), run);
      const server = servers.use(await startSteward({ ...run, databaseUrl }));
      await pastIsCounted(databaseUrl);
      return server;
    };
    const both = {
      small: await start("small", sizes.small),
      large: await start("large", run.isQuick ? quickLarge : sizes.large),
    };
    await atRest(run);
    const chosen = (await casesOf(both.small.url)).filter((each) => isChosen(run, nameOf(each)));
    const rows: Array<Row & { factor: number }> = [];
    for (const [nr, each] of chosen.entries()) {
      const line = await row(each, both, run);
      run.progress(`growth: ${nr + 1} of ${chosen.length}, ${line.what}: ${line.cost}, ${line.ratio ?? ""}`);
      rows.push(line);
    }
    return rows.toSorted((a, b) => b.factor - a.factor);
  },
};

/** Waits for the job that counts past days, which first runs some seconds after a start. */
async function pastIsCounted(databaseUrl: string): Promise<void> {
  const query = "select counted_until is not null as counted from deployment";
  await withClient(databaseUrl, async (client) => {
    while (!(await client.query<{ counted: boolean }>(query)).rows[0]!.counted) await sleep(500);
  });
}

/**
 * Seconds for which Postgres is watched, longer than the usual jobs rest, and the largest share of a core that it takes at
 * rest: on a slow machine, the usual jobs of both servers took up to 14.5 %.
 */
const watched = 35;
const atRestShare = 0.15;

/** Waits until Postgres has nothing to do. Throws if a job of the servers does not end: all cases would pay for it. */
async function atRest(run: Run): Promise<void> {
  for (let attempt = 1; attempt <= 4; attempt++) {
    const before = run.postgres.read();
    await sleep(watched * 1_000);
    const share = (run.postgres.read() - before) / (watched * 1e9);
    run.progress(`growth: Postgres takes ${(share * 100).toFixed(1)} % of a core without requests`);
    if (share < atRestShare) return;
  }
  throw new Error("A job of the servers keeps Postgres busy.");
}

async function row(each: Case, sites: Sites, run: Run): Promise<Row & { factor: number }> {
  const line = { bench: "growth", what: nameOf(each) };
  try {
    const requests = { small: await requestOf(each, sites.small), large: await requestOf(each, sites.large) };
    const result = await measure(sites, requests, run.postgres);
    return { ...line, ...rowOf(result, each), factor: result.interval.middle };
  } catch (error) {
    return { ...line, cost: `failed: ${(error as Error).message.slice(0, 200)}`, verdict: "missed", factor: Infinity };
  }
}

const requestOf = (each: Case, { url }: ServerProcess) => each.request((bytes) => ask(url, bytes));

/** The body of the response to a request. */
async function ask(url: URL, bytes: string): Promise<string> {
  using connection = await Connection.open(url);
  return bodyOf(await connection.ask(bytes));
}
