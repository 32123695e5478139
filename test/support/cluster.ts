// One Postgres for the whole run, and a database per test file, cloned from a migrated template.
// Looks inside: tests run on the built-in Postgres unless they are given another one.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, escapeLiteral } from "pg";
import { type Cluster, startCluster } from "../../src/infrastructure/embedded-postgres/index.js";
import { connectTestsUsually, isUnusual, makeUnusual } from "./unusual-settings.js";

export { type Cluster, startCluster };

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

/** Environment variables that pass the shared cluster and template to the worker processes. */
const shared = { server: "STEWARD_TEST_POSTGRES", template: "STEWARD_TEST_TEMPLATE", copying: "STEWARD_TEST_COPYING" };
let created = 0;

if (isUnusual) connectTestsUsually();

/** Opens the Postgres of the run: the one that the environment names, else one of its own. Returns what closes it. */
export async function openPostgres(): Promise<() => Promise<void>> {
  const given = process.env.STEWARD_DATABASE_URL || process.env.DATABASE_URL;
  const own = given ? undefined : await startTestCluster();
  process.env[shared.server] = given ?? own!.url;
  // Without fsync, a copy of the files takes a quarter of the time. Postgres 14 knows one way only.
  process.env[shared.copying] = own ? "strategy file_copy" : "";
  return own ? () => own.stop() : dropTemplate;
}

/** Creates the database that `cloneDatabase` copies. `migrate` must disconnect. */
export async function createTemplate(migrate: (url: string) => Promise<void>): Promise<void> {
  const { url } = await createDatabase();
  await migrate(url);
  process.env[shared.template] = new URL(url).pathname.slice(1);
}

const dropTemplate = () => administer(`drop database ${process.env[shared.template]}`);

/** Creates a migrated database with the administrator and the default organization, for one test file. */
export const cloneDatabase = (): Promise<TestDatabase> => createDatabase(process.env[shared.template]);

/** Creates an empty database, or a copy of another one. */
export async function createDatabase(original = "template1"): Promise<TestDatabase> {
  const name = `steward_test_${process.pid}_${++created}`;
  const url = new URL(serverUrl());
  url.pathname = name;
  await administer(`create database ${name} template ${original} ${process.env[shared.copying]}`);
  // Settings of a database are not copied with it.
  if (isUnusual) await administer((client) => makeUnusual(client, name));
  return { url: url.href, drop: () => administer(`drop database if exists ${name} with (force)`) };
}

const serverUrl = () => process.env[shared.server]!;

async function startTestCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(await storage(), "steward-test-"));
  removeWhenProcessIsGone(directory);
  const log = { info: () => {}, warn: console.warn, error: console.error };
  const cluster = await startCluster({ directory, fsync: false, log });
  await makeCheap(cluster);
  const stop = async () => {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: cluster.url, stop };
}

/** Lets connections cost less: a run opens thousands. Rows are analyzed only by the tests that want it. */
async function makeCheap({ url }: Cluster): Promise<void> {
  await administer(async (client) => {
    await client.query(
      `set scram_iterations = 1; alter role current_user password ${escapeLiteral(new URL(url).password)};`,
    );
    await client.query("alter system set autovacuum = off");
    await client.query("select pg_reload_conf()");
  }, url);
}

/** Memory, where there is room for the databases of a run: copying one there takes a tenth of the time. */
async function storage(): Promise<string> {
  const memory = "/dev/shm";
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > 4 * 1024 ** 3 ? memory : tmpdir();
}

/** However this process ends, its pipe to the shell closes, and the shell cleans up unless this process has. */
function removeWhenProcessIsGone(directory: string): void {
  const script = 'read -r _; kill -QUIT $(head -n 1 "$0"/*/postmaster.pid) 2>/dev/null; sleep 1; rm -rf "$0"';
  spawn("/bin/sh", ["-c", script, directory], { stdio: ["pipe", "ignore", "ignore"], detached: true }).unref();
}

async function administer(
  work: string | ((client: Client) => Promise<unknown>),
  url: string = serverUrl(),
): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    await (typeof work === "string" ? client.query(work) : work(client));
  } finally {
    await client.end();
  }
}
