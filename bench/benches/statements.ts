import { ownerToken, ids } from "../data.js";
import { listGroups, updateGroup } from "../documents.js";
import { LoadGenerator } from "../load.js";
import type { ServerProcess } from "../process.js";
import { type Goal, judge, type Row } from "../report.js";
import { get, graphql } from "../requests.js";
import type { Bench } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

interface Case {
  what: string;
  /** Builds the `nth` request. */
  request: (nth: number) => string;
  goal: Goal;
}

/** Requests per case. The median hides statements of background work. */
const times = 9;

const readGroup = `/api/v2/groups/${ids.smallGroup}`;

const cases: Case[] = [
  { what: "point read", request: () => get(readGroup, ownerToken()), goal: { limit: 2, aim: 1 } },
  {
    what: "point read, session not cached",
    request: (nth) => get(readGroup, ownerToken(nth + 1)),
    goal: { limit: 2, aim: 2 },
  },
  { what: "list with members", request: () => get("/api/v2/groups", ownerToken()), goal: { limit: 3, aim: 2 } },
  {
    what: "mutation, without begin and commit",
    request: (nth) =>
      graphql(updateGroup, { input: { group: ids.writtenGroup(0), quotaAllowance: 1_000 + nth } }, ownerToken()),
    goal: { limit: 4, aim: 2 },
  },
  {
    what: "page of groups with all their fields",
    request: () => graphql(listGroups, {}, ownerToken()),
    goal: { limit: 6, aim: 5 },
  },
];

async function count(server: ServerProcess, request: Case["request"]): Promise<number> {
  using generator = await LoadGenerator.open(server.url, { connections: 1, request: (_, nth) => request(nth) });
  await generator.each();
  const counts: number[] = [];
  for (let nr = 0; nr < times; nr++) {
    const first = await statementsSent(server);
    const before = await statementsSent(server);
    await generator.each();
    const after = await statementsSent(server);
    const ofReport = before - first;
    counts.push(after - before - ofReport);
  }
  return median(counts);
}

async function statementsSent({ url }: ServerProcess): Promise<number> {
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  const [, value] = /^steward_sql_statements_total (\d+)$/m.exec(metrics) ?? [];
  if (value === undefined) throw new Error("Steward did not report how many statements it sent.");
  return Number(value);
}

/** SQL statements per request, by Steward's own counter. */
export const statementsBench: Bench = {
  name: "statements",
  async measure(run) {
    const bench = "SQL statements";
    run.progress(bench);
    await using server = await startSteward(run);
    const rows: Row[] = [];
    for (const { what, request, goal } of cases) {
      const sent = await count(server, request);
      rows.push({ bench, what, cost: String(sent), ...judge(sent, goal, "") });
    }
    return rows;
  },
};
