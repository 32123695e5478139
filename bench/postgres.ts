import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import pino from "pino";
import { startCluster } from "../src/infrastructure/embedded-postgres/index.js";
import { migrateOffline } from "../src/infrastructure/database/migrations.js";
import { openDatabase as openSteward } from "../src/infrastructure/database/database.js";
import { ClusterCpu } from "./cpu.js";
import { seed } from "./data.js";

/** A durable Postgres of its own with a migrated and filled database. */
export interface BenchDatabase extends AsyncDisposable {
  url: string;
  /** Its folder, removed when it is closed. */
  folder: string;
  /** The version of Postgres. */
  version: string;
  /** Of the whole cluster. */
  cpu: ClusterCpu;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Opens a cluster with a database for benches, in a temporary folder. */
export async function openDatabase(): Promise<BenchDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "steward-bench-"));
  const cluster = await startCluster({ directory: join(folder, "postgres"), log: pino({ level: "error" }) });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= cluster.stop().then(() => rm(folder, { recursive: true })));
  try {
    const url = databaseOf(cluster.url, "bench");
    await withClient(cluster.url, (client) => client.query("create database bench"));
    await migrate(url);
    return await withClient(url, async (client) => {
      await seed(client);
      const { rows } = await client.query<{ version: string; backend: number }>(
        `select current_setting('server_version') as version, pg_backend_pid() as backend`,
      );
      const { version, backend } = rows[0]!;
      return { url, folder, version, cpu: ClusterCpu.ofBackend(backend), [Symbol.asyncDispose]: close };
    });
  } catch (error) {
    await close();
    throw error;
  }
}

/** The URL of another database of the cluster. */
export function databaseOf(clusterUrl: string, name: string): string {
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  return url.href;
}

export async function withClient<Result>(
  connectionString: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

async function migrate(url: string): Promise<void> {
  const database = openSteward({ url, pool: 2, statementTimeout: 60_000 });
  try {
    await migrateOffline(database);
  } finally {
    await database.close();
  }
}
