import type { Client } from "pg";
import type { Case } from "../growth/case.js";
import { databaseOfSize } from "../growth/databases.js";
import { lists } from "../growth/queries.js";
import { LoadGenerator } from "../load.js";
import { openDatabase, withClient } from "../postgres.js";
import type { ServerProcess } from "../process.js";
import { judge, type Row } from "../report.js";
import { type Bench, isChosen } from "../run.js";
import { startSteward } from "../steward.js";

/** Postgres chooses a generic plan for a prepared statement after five executions on a connection. */
const warmUp = 30;
const samples = 60;

/** Maximum of rounds of samples. */
const rounds = 5;

/** Percent of the time in Postgres. */
const goal = { limit: 10, aim: 5 };

const settings = { shared_preload_libraries: "pg_stat_statements", "pg_stat_statements.track_planning": "on" };

interface Times {
  calls: number;
  plans: number;
  /** Milliseconds. */
  plan: number;
  execution: number;
}

/** The share of planning in Postgres's time for a list, once everything is warm. */
export const planningBench: Bench = {
  name: "planning",
  method: `A database with 1,000 users, 50 groups and 10,000 rows of everything that grows, read one request at a time: ${warmUp} requests
that do not count, then ${samples}, up to ${rounds} times until none of them plans: each connection of the pool plans a
statement when it first runs it. The last ${samples} count. The times are those of pg_stat_statements with track_planning. Parsing is not among them, but a
statement that is planned for each call is also parsed for each call, and one that is not is parsed once per connection.`,
  async measure(run) {
    const chosen = lists.filter(({ role, operation, what }) => {
      const isFullest = role === (operation === "Query.inboxNotifications" ? "reader" : "owner");
      return isFullest && isChosen(run, `${operation}, ${what}`);
    });
    run.progress("planning: a cluster that counts it");
    await using cluster = await openDatabase({ settings });
    const own = { ...run, databaseUrl: cluster.url, folder: cluster.folder };
    const databaseUrl = await databaseOfSize("small", own);
    await using server = await startSteward({ ...own, databaseUrl });
    return await withClient(databaseUrl, async (client) => {
      await client.query("create extension pg_stat_statements");
      const rows: Array<Row & { share: number }> = [];
      for (const each of chosen) {
        run.progress(`planning: ${each.operation}, ${each.what}`);
        rows.push(rowOf(each, await measure(each, server, client)));
      }
      return rows.toSorted((a, b) => b.share - a.share);
    });
  },
};

async function measure(each: Case, { url }: ServerProcess, client: Client): Promise<Times> {
  const send = async (request: string, times: number) => {
    using generator = await LoadGenerator.open(url, { connections: 1, request: () => request });
    let body = "";
    for (let nr = 0; nr < times; nr++) [body] = (await generator.each()) as [string];
    return body;
  };
  const request = await each.request((document) => send(document, 1));
  await send(request, warmUp);
  for (let round = 1; ; round++) {
    await client.query("select pg_stat_statements_reset()");
    await send(request, samples);
    const [times] = (await client.query<Times>(selectTimes)).rows as [Times];
    if (times.plans === 0 || round === rounds) return times;
  }
}

const selectTimes = `
  select coalesce(sum(calls), 0)::int as calls, coalesce(sum(plans), 0)::int as plans,
    coalesce(sum(total_plan_time), 0) as plan, coalesce(sum(total_exec_time), 0) as execution
  from pg_stat_statements s join pg_database d on d.oid = s.dbid
  where d.datname = current_database() and s.query not like '%pg_stat_statements%'`;

const perSample = (time: number) => (time / samples).toFixed(2);

function rowOf({ operation, what }: Case, { calls, plans, plan, execution }: Times): Row & { share: number } {
  const share = (100 * plan) / (plan + execution);
  return {
    bench: "planning",
    what: `${operation}: ${what}`,
    cost: `plan ${perSample(plan)} + execute ${perSample(execution)} ms; ${plans} plans for ${calls} calls`,
    ratio: `${share.toFixed(1)} % planning`,
    ...judge(share, goal, "%"),
    share,
  };
}
