import { ids, inboxReader, memberToken, ownerToken } from "../data.js";
import { measure, rowOf } from "../growth/measure.js";
import { databaseWith, monthCount, type Partitioned, retain, rowCount } from "../months.js";
import { withClient } from "../postgres.js";
import type { Row } from "../report.js";
import { get, graphql } from "../requests.js";
import { type Bench, isChosen, type Run } from "../run.js";
import { startSteward } from "../steward.js";

const events = (filter = "", more = "") =>
  graphql(
    `{ auditEvents(first: 50${more}${filter && `, filter: { ${filter} }`}) { nodes { id time action } } }`,
    {},
    ownerToken(),
  );
const inbox = (filter = "") =>
  graphql(`{ inboxNotifications(first: 50${filter}) { nodes { id title } } }`, {}, memberToken(inboxReader));

/** The middle of the months. */
const middle = new Date(Date.now() - (monthCount / 2) * 30 * 86_400_000).toISOString();

const pages: Record<string, string> = {
  "audit log: newest": events(),
  "audit log: oldest": events("", ", orderBy: { field: TIME, direction: ASC }"),
  "audit log: before the middle": events(`before: "${middle}"`),
  "audit log: of a user with few": events(`actor: "${ids.user(7)}"`),
  "audit log: of a type": events(`resourceType: "group"`),
  "audit log: of a user, a type, and an action": events(
    `actor: "${ids.user(7)}", resourceType: "group", action: UPDATE`,
  ),
  "connection log: newest": get("/api/v2/connectionlog?limit=50", ownerToken()),
  "connection log: before the middle": get(
    `/api/v2/connectionlog?limit=50&q=connected_before:${middle.slice(0, 10)}`,
    ownerToken(),
  ),
  "connection log: of an owner with few": get(
    `/api/v2/connectionlog?limit=50&q=workspace_owner:${ids.user(7)}`,
    ownerToken(),
  ),
  "inbox: newest": inbox(),
  "inbox: unread": inbox(", filter: { readStatus: UNREAD }"),
};

/** How much pages and retention cost where tables have partitions of months. */
export const monthsBench: Bench = {
  name: "months",
  method: `Two databases of one cluster with ${rowCount.toLocaleString("en")} audit events, connections, and notifications each, spread over ${monthCount} months: in
one, each table has a single partition, as after the upgrade; in the other, one for each month. Servers of the same build
get the same requests in turn, as in the bench "growth"; the ratio is months to table. Retention is that of a month of
rows (1/${monthCount}), by the background job, with the vacuum that follows: time, CPU of Postgres, and what is left on disk of the bytes that these rows had.`,
  async measure(run) {
    run.progress("months: filling the table");
    const table = await databaseWith("table", run.databaseUrl);
    run.progress("months: filling the months");
    const months = await databaseWith("months", run.databaseUrl);
    return [...(await pagesOf(table, months, run)), ...(await retention({ table, months }, run))];
  },
};

async function pagesOf(table: string, months: string, run: Run): Promise<Row[]> {
  await using servers = new AsyncDisposableStack();
  const start = async (databaseUrl: string) => ({
    server: servers.use(await startSteward({ ...run, databaseUrl })),
    databaseUrl,
  });
  const sites = { small: await start(table), large: await start(months) };
  const rows: Row[] = [];
  for (const [what, request] of Object.entries(pages)) {
    if (!isChosen(run, what)) continue;
    const result = await measure(sites, { small: request, large: request }, run.postgres);
    rows.push({ bench: "months", what, ...rowOf(result, { isDeep: false, isCombined: false }) });
    run.progress(`months: ${what}: ${rows.at(-1)!.cost}, ${rows.at(-1)!.ratio}`);
  }
  return rows;
}

const bytes = (url: string, table: Partitioned) =>
  withClient(url, async (client) => {
    const { rows } = await client.query<{ bytes: number }>(
      "select sum(pg_total_relation_size(relid))::float8 as bytes from pg_partition_tree($1)",
      [table],
    );
    return rows[0]!.bytes;
  });

async function retention(urls: Readonly<Record<string, string>>, run: Run): Promise<Row[]> {
  const rows: Row[] = [];
  for (const table of ["audit_log", "connection_log", "inbox"] as const) {
    const what = `retention of ${table}`;
    if (!isChosen(run, what)) continue;
    for (const [name, url] of Object.entries(urls)) {
      const before = await bytes(url, table);
      const [since, cpu] = [performance.now(), run.postgres.read()];
      await retain(url, table, 1);
      await withClient(url, (client) => client.query(`vacuum ${table}`));
      const time = performance.now() - since;
      const used = (run.postgres.read() - cpu) / 1_000_000;
      const left = 1 - ((before - (await bytes(url, table))) * monthCount) / before;
      const cost = `${time.toFixed(0)} ms, Postgres ${used.toFixed(0)} ms; ${Math.max(0, left * 100).toFixed(0)} % of the bytes left`;
      rows.push({ bench: "months", what: `${what}, ${name}`, cost });
      run.progress(`months: ${what}, ${name}: ${cost}`);
    }
  }
  return rows;
}
