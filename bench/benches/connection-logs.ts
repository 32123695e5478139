import { administrators, known, logOf, many, watched } from "../connections.js";
import { memberToken, ownerToken } from "../data.js";
import { LoadGenerator } from "../load.js";
import type { ServerProcess } from "../process.js";
import { judge, type Row, showRatios } from "../report.js";
import { get } from "../requests.js";
import type { Bench, Run } from "../run.js";
import { median } from "../statistics.js";
import { startSteward } from "../steward.js";

interface Reader {
  name: string;
  token: string;
  searches: string[];
  /** Number of rows to skip. */
  offset?: number;
}

const { smallOrganization, hugeOrganization, workspace, connection, owner, visitor } = known;
const half = "2026-10-16";

const readers: Reader[] = [
  {
    name: "owner",
    token: ownerToken(),
    searches: [
      "",
      `organization:${hugeOrganization}`,
      "organization:small",
      "organization:small,large",
      `workspace_owner:${owner}`,
      `workspace_owner_email:${owner}@example.com`,
      `username:${visitor}`,
      `user_email:${visitor}@example.com`,
      `workspace_id:${workspace}`,
      `connection_id:${connection}`,
      "type:ssh",
      "type:jetbrains",
      "type:ssh,vscode,workspace_app",
      "status:ongoing",
      "status:completed",
      `connected_after:${half}`,
      `connected_before:${half}`,
      `connected_after:${half} type:jetbrains`,
      `workspace_owner:${owner} type:vscode status:completed`,
      `username:${visitor} type:workspace_app connected_before:${half}`,
      `organization:${hugeOrganization} type:jetbrains`,
      `organization:${hugeOrganization} status:ongoing`,
      `organization:small type:ssh status:completed connected_after:${half}`,
    ],
  },
  { name: "owner", token: ownerToken(), searches: ["", `organization:${smallOrganization}`], offset: 900 },
  { name: "owner", token: ownerToken(), searches: [""], offset: 2_000 },
  {
    name: "admin of one organization",
    token: memberToken(administrators.ofOne - 1),
    searches: ["", "type:ssh", "type:jetbrains", "status:completed", "status:ongoing", `workspace_owner:${owner}`],
  },
  {
    name: "admin of two organizations",
    token: memberToken(administrators.ofTwo - 1),
    searches: ["", "type:ssh", "type:jetbrains", "status:completed", "status:ongoing", `connected_after:${half}`],
  },
];

/** Requests to each server per ratio. */
const samples = 60;

const goal = { limit: 1.3, aim: 1.1 };

/** How much longer a page with its count takes where the log has a hundred times the rows. */
export const connectionLogsBench: Bench = {
  name: "connection-logs",
  async measure(run) {
    const bench = `connection log, ${many} vs ${watched} rows`;
    await using small = await serverWith(watched, run);
    await using large = await serverWith(many, run);
    const rows: Row[] = [];
    for (const { name, token, searches, offset = 0 } of readers) {
      for (const q of searches) {
        const what = `${name}: ${q || "all"}${offset ? `, from row ${offset}` : ""}`;
        run.progress(`${bench}: ${what}`);
        const path = `/api/v2/connectionlog?limit=100&offset=${offset}&q=${encodeURIComponent(q)}`;
        rows.push({ bench, what, ...(await compare([small, large], get(path, token), run)) });
      }
    }
    return rows;
  },
};

async function serverWith(rows: number, run: Run): Promise<ServerProcess> {
  run.progress(`a connection log of ${rows} rows`);
  return startSteward({ ...run, databaseUrl: await logOf(rows, run.databaseUrl) });
}

/** Sends requests to both servers in turn, one at a time, and compares the medians of their times. */
async function compare(servers: ServerProcess[], request: string, { rounds }: Run) {
  const [small, large] = (await Promise.all(
    servers.map(({ url }) => LoadGenerator.open(url, { connections: 1, request: () => request })),
  )) as [LoadGenerator, LoadGenerator];
  try {
    const counts = await Promise.all([small, large].map(countOf));
    if (counts[0] !== counts[1]) throw new Error(`Different counts: ${counts.join(" and ")}.`);
    const times: Array<[number, number]> = [];
    for (let round = 0; round <= rounds; round++) {
      const taken: [number[], number[]] = [[], []];
      for (let nr = 0; nr < samples; nr++) {
        taken[0].push(await timeOf(small));
        taken[1].push(await timeOf(large));
      }
      // The first request warms up the server.
      if (round > 0) times.push([median(taken[0]), median(taken[1])]);
    }
    const ratios = times.map(([ofSmall, ofLarge]) => ofLarge / ofSmall);
    const cost = `${median(times.map(([, ofLarge]) => ofLarge)).toFixed(1)} ms`;
    return { cost, ratio: showRatios(ratios), ...judge(median(ratios), goal, "×") };
  } finally {
    small[Symbol.dispose]();
    large[Symbol.dispose]();
  }
}

async function countOf(generator: LoadGenerator): Promise<number> {
  const [body] = await generator.each();
  return (JSON.parse(body!) as { count: number }).count;
}

async function timeOf(generator: LoadGenerator): Promise<number> {
  const since = performance.now();
  await generator.each();
  return performance.now() - since;
}
