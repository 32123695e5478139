import { type Cost, measureCost } from "../cost.js";
import { withClient } from "../postgres.js";
import type { Run } from "../run.js";
import type { Deployment } from "./deployment.js";

/** CPU time in microseconds, and the bytes that Postgres wrote to its log. */
export interface Spent extends Cost {
  walBytes: number;
}

/** Starts a measurement of a deployment; the returned function ends it. */
export async function measure({ servers, databaseUrl }: Deployment, { postgres }: Run): Promise<() => Promise<Spent>> {
  const cpu = { read: () => servers.reduce((sum, server) => sum + server.cpu.read(), 0) };
  const walBefore = await walPosition(databaseUrl);
  const stop = measureCost({ cpu }, postgres);
  return async () => ({ ...stop(1), walBytes: (await walPosition(databaseUrl)) - walBefore });
}

const walPosition = (databaseUrl: string): Promise<number> =>
  withClient(databaseUrl, async (client) => {
    const { rows } = await client.query<{ bytes: string }>("select pg_current_wal_insert_lsn() - '0/0' as bytes");
    return Number(rows[0]!.bytes);
  });

/** Tables that grow with what is done, and those whose rows belong to one row of another table. */
const tables: Readonly<Record<string, readonly string[]>> = {
  user: ["users", "organization_members", "scim_user_links"],
  "audit event": ["audit_events"],
  connection: ["connection_logs"],
  notification: ["inbox_notifications"],
  "session or token": ["api_keys"],
  "refresh token": ["oauth2_refresh_tokens"],
  build: ["workspace_builds", "provisioner_jobs", "workspace_resources", "workspace_agents", "workspace_apps"],
  task: ["tasks", "task_builds"],
  "log line of a build": ["provisioner_job_logs"],
};

/** The rows of each kind. */
export const countRows = ({ databaseUrl }: Deployment): Promise<Record<string, number>> =>
  withClient(databaseUrl, async (client) => {
    const counts: Record<string, number> = {};
    for (const [kind, [table]] of Object.entries(tables)) {
      const { rows } = await client.query<{ count: number }>(`select count(*)::int as count from ${table}`);
      counts[kind] = rows[0]!.count;
    }
    return counts;
  });

/** Bytes per row of each kind, with indexes and the rows that belong to it. Partitions of a table count as the table. */
export const rowSizes = (deployment: Deployment): Promise<Record<string, number>> =>
  withClient(deployment.databaseUrl, async (client) => {
    const counts = await countRows(deployment);
    const sizes: Record<string, number> = {};
    for (const [kind, own] of Object.entries(tables)) {
      const { rows } = await client.query<{ bytes: string }>(
        `select sum(pg_total_relation_size(t::regclass) + coalesce((select sum(pg_total_relation_size(p.relid))
           from pg_partition_tree(t::regclass) p where p.relid <> t::regclass), 0)) as bytes
         from unnest($1::text[]) t`,
        [own],
      );
      sizes[kind] = Math.round(Number(rows[0]!.bytes) / Math.max(1, counts[kind]!));
    }
    return sizes;
  });
