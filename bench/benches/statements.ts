import { ownerToken, ids } from "../data.js";
import { listGroups, updateGroup } from "../documents.js";
import { LoadGenerator } from "../load.js";
import type { ServerProcess } from "../process.js";
import { type Goal, judge, type Row } from "../report.js";
import { get, graphql } from "../requests.js";
import type { Bench } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

interface Question {
  what: string;
  /** The `nth` time it is asked. */
  ask: (nth: number) => string;
  goal: Goal;
}

/** How often each question is asked: the median passes over what the background does meanwhile. */
const times = 9;

const readGroup = `/api/v2/groups/${ids.smallGroup}`;

const questions: Question[] = [
  { what: "point read", ask: () => get(readGroup, ownerToken()), goal: { limit: 2, aim: 1 } },
  {
    what: "point read, session not cached",
    ask: (nth) => get(readGroup, ownerToken(nth + 1)),
    goal: { limit: 2, aim: 2 },
  },
  { what: "list with members", ask: () => get("/api/v2/groups", ownerToken()), goal: { limit: 3, aim: 2 } },
  {
    what: "mutation, without begin and commit",
    ask: (nth) =>
      graphql(updateGroup, { input: { group: ids.writtenGroup(0), quotaAllowance: 1_000 + nth } }, ownerToken()),
    goal: { limit: 4, aim: 2 },
  },
  {
    what: "page of groups with all that hangs on them",
    ask: () => graphql(listGroups, {}, ownerToken()),
    goal: { limit: 6, aim: 5 },
  },
];

async function count(server: ServerProcess, ask: Question["ask"]): Promise<number> {
  using generator = await LoadGenerator.open(server.url, { connections: 1, request: (_, nth) => ask(nth) });
  await generator.each();
  const counts: number[] = [];
  for (let nr = 0; nr < times; nr++) {
    const before = await statementsSent(server);
    await generator.each();
    counts.push((await statementsSent(server)) - before);
  }
  return median(counts);
}

async function statementsSent({ url }: ServerProcess): Promise<number> {
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  const [, value] = /^steward_sql_statements_total (\d+)$/m.exec(metrics) ?? [];
  if (value === undefined) throw new Error("Steward does not tell how many statements it sent.");
  return Number(value);
}

/** SQL statements per request, as Steward counts them itself. */
export const statementsBench: Bench = {
  name: "statements",
  async measure(run) {
    const bench = "SQL statements";
    run.progress(bench);
    await using server = await startSteward(run);
    const rows: Row[] = [];
    for (const { what, ask, goal } of questions) {
      const sent = await count(server, ask);
      rows.push({ bench, what, cost: String(sent), ...judge(sent, goal, "") });
    }
    return rows;
  },
};
