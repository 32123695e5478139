import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import pino from "pino";
import { startCluster } from "../src/embedded-postgres/index.js";
import { createOrm } from "../src/entities/orm.js";
import { seed } from "./data.js";

/** A durable Postgres of its own with a migrated and filled database. */
export interface BenchDatabase extends AsyncDisposable {
  url: string;
  /** Its folder, gone when it is closed. */
  folder: string;
  /** What Postgres says of itself. */
  version: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openDatabase(): Promise<BenchDatabase> {
  const folder = await mkdtemp(join(tmpdir(), "steward-bench-"));
  const cluster = await startCluster({ directory: join(folder, "postgres"), log: pino({ level: "error" }) });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= cluster.stop().then(() => rm(folder, { recursive: true })));
  try {
    const url = new URL(cluster.url);
    await withClient(url.href, (client) => client.query("create database bench"));
    url.pathname = "/bench";
    await migrate(url.href);
    const version = await withClient(url.href, async (client) => {
      await seed(client);
      const { rows } = await client.query<{ server_version: string }>("show server_version");
      return rows[0]!.server_version;
    });
    return { url: url.href, folder, version, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function migrate(url: string): Promise<void> {
  const { orm } = createOrm({ url, pool: 2, statementTimeout: 60_000 });
  try {
    await orm.migrator.up();
  } finally {
    await orm.close();
  }
}

async function withClient<Result>(connectionString: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
