import type { CpuMeter } from "../cpu.js";
import { withClient } from "../postgres.js";
import type { Run } from "../run.js";
import type { Deployment } from "./deployment.js";

/** CPU time in microseconds, and the bytes that Postgres wrote to its log. */
export interface Spent {
  seconds: number;
  servers: number;
  postgres: number;
  /** Of this process, which is the clients. */
  clients: number;
  walBytes: number;
}

/** CPUs that were busy on average. */
export const busy = ({ servers, postgres, seconds }: Spent): number => (servers + postgres) / seconds / 1e6;

/** Starts a measurement of a deployment; the returned function ends it. */
export async function measure(deployment: Deployment, { postgres }: Run): Promise<() => Promise<Spent>> {
  const walBefore = await walPosition(deployment);
  const servers: readonly CpuMeter[] = deployment.servers.map(({ cpu }) => cpu);
  const read = () => ({
    servers: servers.reduce((sum, meter) => sum + meter.read(), 0) / 1_000,
    postgres: postgres.read() / 1_000,
    clients: sumOf(process.cpuUsage()),
    milliseconds: performance.now(),
  });
  const before = read();
  return async () => {
    const after = read();
    return {
      seconds: (after.milliseconds - before.milliseconds) / 1_000,
      servers: after.servers - before.servers,
      postgres: after.postgres - before.postgres,
      clients: after.clients - before.clients,
      walBytes: (await walPosition(deployment)) - walBefore,
    };
  };
}

const sumOf = ({ user, system }: NodeJS.CpuUsage) => user + system;

const walPosition = ({ databaseUrl }: Deployment): Promise<number> =>
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

const counted = Object.entries(tables).map(([name, [table]]) => ({ name, table: table! }));

/** The rows of each kind. */
export const countRows = ({ databaseUrl }: Deployment): Promise<ReadonlyMap<string, number>> =>
  withClient(databaseUrl, async (client) => {
    const counts = counted.map(({ table }) => `(select count(*) from ${table}) as ${table}`);
    const { rows } = await client.query<Record<string, string>>(`select ${counts.join(", ")}`);
    return new Map(counted.map(({ name, table }) => [name, Number(rows[0]![table])]));
  });

/** Bytes per row of each kind, with indexes and the rows that belong to it. Partitions of a table count as the table. */
export const rowSizes = (deployment: Deployment): Promise<ReadonlyMap<string, number>> =>
  withClient(deployment.databaseUrl, async (client) => {
    const counts = await countRows(deployment);
    const sizes = new Map<string, number>();
    for (const [name, own] of Object.entries(tables)) {
      const { rows } = await client.query<{ bytes: string }>(
        `select sum(pg_total_relation_size(t::regclass) + coalesce((select sum(pg_total_relation_size(p.relid))
           from pg_partition_tree(t::regclass) p where p.relid <> t::regclass), 0)) as bytes
         from unnest($1::text[]) t`,
        [own],
      );
      sizes.set(name, Number(rows[0]!.bytes) / Math.max(1, counts.get(name)!));
    }
    return sizes;
  });
