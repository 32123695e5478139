import { type Contest, type Contestant, hold } from "../contest.js";
import { ownerToken } from "../data.js";
import type { Load } from "../load.js";
import { addManyTokens, expireTokens, withOAuth2 } from "../oauth2-rows.js";
import { client } from "../oauth2.js";
import { purges } from "../oauth2-purges.js";
import { databaseOf, withClient } from "../postgres.js";
import { judgeInterval, type Row, showInterval } from "../report.js";
import { get, graphql } from "../requests.js";
import { type Bench, isChosen, type Run } from "../run.js";
import { median, ratioInterval } from "../statistics.js";
import { clientCredentials, introspection, rotation, steward } from "./oauth2.js";

const goal = { limit: 1.3, aim: 1.1 };

const small = "12,000 grants";
const large = "1,000,000 more tokens";

const grantsPage = "query { oauth2Grants(first: 50) { nodes { id scopes } pageInfo { endCursor } } }";
const ownGrants = `query { oauth2Grants(user: "user-1", first: 50) { nodes { id scopes } pageInfo { endCursor } } }`;

const constant = (request: string): Load => ({ connections: 4, request: () => request });

/** The same requests to a server of each database. `load` is called for each: rotations continue where they ended. */
function contest(title: string, urls: Readonly<Record<string, string>>, load: () => Load): Contest {
  const contestants = Object.entries(urls).map(([name, databaseUrl]): Contestant => ({
    name,
    start: (run) => steward.start({ ...run, databaseUrl }),
    load: load(),
    // Tokens and times differ.
    spell: () => "",
  }));
  return { title, contestants, pairs: [{ of: large, against: small, goal }] };
}

const contests = (urls: Readonly<Record<string, string>>): Contest[] => [
  contest("refresh token rotation", urls, () => rotation(steward)),
  contest("client credentials", urls, clientCredentials),
  contest("introspection", urls, () => introspection(steward)),
  contest("first page of all grants", urls, () => constant(graphql(grantsPage, {}, ownerToken()))),
  contest("grants of a user", urls, () => constant(graphql(ownGrants, {}, ownerToken()))),
  contest("applications with grants of a user", urls, () =>
    constant(get("/api/v2/oauth2-provider/apps?user_id=user-1", ownerToken())),
  ),
  contest("one application", urls, () => constant(get(`/api/v2/oauth2-provider/apps/${client.id}`, ownerToken()))),
];

/** Compares the CPU time of Postgres for the deletion of as many expired rows. */
async function purging(urls: Readonly<Record<string, string>>, run: Run): Promise<Row[]> {
  const costs: Record<string, number[]> = { [small]: [], [large]: [] };
  for (let nr = 0; nr < 6; nr++) {
    run.progress(`purge: round ${nr + 1}`);
    const both = Object.entries(urls);
    for (const [name, url] of nr % 2 ? both : both.toReversed()) {
      await withClient(url, expireTokens);
      const before = run.postgres.read();
      await purges(url);
      costs[name]!.push((run.postgres.read() - before) / 1_000_000);
    }
  }
  const interval = ratioInterval(costs[large]!.map((cost, nr) => cost / costs[small]![nr]!));
  const shown = (name: string) => `${median(costs[name]!).toFixed(0)} ms`;
  const cost = `${shown(small)} → ${shown(large)} Postgres CPU`;
  const what = "purge of 5,000 expired grants with their tokens";
  return [{ bench: "oauth2 growth", what, cost, ratio: showInterval(interval), ...judgeInterval(interval, goal) }];
}

/** Many short rounds: both servers are the same program, which needs no long warm-up to be compared with itself. */
const pace = { rounds: 4, mostRounds: 10, warmUp: 2_000, measure: 1_500 };

/** How much more requests for tokens cost where there are many. */
export const oauth2GrowthBench: Bench = {
  name: "oauth2-growth",
  method: `Two databases of one cluster: one with 12,000 grants, each with a refresh token and an access token, and a copy with
500,000 grants and 1,000,000 tokens more. Servers of the same build get the same requests in turn, in ${pace.rounds} to ${pace.mostRounds} rounds of
${pace.measure / 1_000} s after ${pace.warmUp / 1_000} s of warm-up. Costs are medians of the rounds: CPU per request of the server process and of all
processes of the Postgres cluster; of purges, of Postgres alone. Ratios are paired within a round, as geometric mean with
its 95 % confidence interval; a verdict takes all of the interval.`,
  measure: (run) =>
    withOAuth2(run.databaseUrl, async () => {
      const urls = { [small]: run.databaseUrl, [large]: databaseOf(run.databaseUrl, "bench_large") };
      await withClient(databaseOf(run.databaseUrl, "postgres"), async (connection) => {
        await connection.query("drop database if exists bench_large");
        await connection.query("create database bench_large template bench");
      });
      run.progress("adding 1,000,000 tokens");
      await withClient(urls[large], addManyTokens);
      const rows: Row[] = [];
      for (const each of contests(urls))
        if (isChosen(run, each.title)) rows.push(...(await hold(each, { ...run, ...pace })));
      if (isChosen(run, "purge")) rows.push(...(await purging(urls, run)));
      return rows.map((row) => ({ ...row, bench: row.bench === "oauth2 growth" ? row.bench : `growth: ${row.bench}` }));
    }),
};
