// One Postgres for the whole run, made on first need, and databases in it: cloned from a migrated template, file by file.
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { type Cluster, startCluster } from "../../src/embedded-postgres/index.js";

export interface TestDatabase {
  url: string;
  drop(): Promise<void>;
}

let starting: Promise<Cluster> | undefined;
let template: Promise<TestDatabase> | undefined;
let created = 0;

/** Makes the database that `cloneDatabase` copies. Only the first call of a run does anything; `migrate` must disconnect. */
export async function createTemplate(migrate: (url: string) => Promise<void>): Promise<void> {
  template ??= createDatabase().then(async (database) => {
    await migrate(database.url);
    return database;
  });
  await template;
}

/** A migrated database for one test file. */
export async function cloneDatabase(): Promise<TestDatabase> {
  if (!template) throw new Error("Call createTemplate first.");
  return createDatabase(nameOf(await template));
}

/** An empty database, or a copy of another. */
export async function createDatabase(original = "template1"): Promise<TestDatabase> {
  const name = `steward_test_${process.pid}_${++created}`;
  const url = new URL(await serverUrl());
  url.pathname = name;
  await administer(`create database ${name} template ${original}`);
  return { url: url.href, drop: () => administer(`drop database if exists ${name} with (force)`) };
}

/** Ends what the run has started. Called once, after all tests. */
export async function stopCluster(): Promise<void> {
  const used = starting;
  const database = await template?.catch(() => undefined);
  template = starting = undefined;
  if (used) await (await used).stop();
  else await database?.drop();
}

async function serverUrl(): Promise<string> {
  const given = process.env.STEWARD_DATABASE_URL ?? process.env.DATABASE_URL;
  return given || (await (starting ??= startTestCluster())).url;
}

async function startTestCluster(): Promise<Cluster> {
  const directory = await mkdtemp(join(tmpdir(), "steward-test-"));
  removeWhenProcessIsGone(directory);
  const log = { info: () => {}, warn: console.warn, error: console.error };
  const cluster = await startCluster({ directory, fsync: false, log });
  const stop = async () => {
    await cluster.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: cluster.url, stop };
}

/** However this process ends, its pipe to the shell closes with it, and the shell cleans up if we have not. */
function removeWhenProcessIsGone(directory: string): void {
  const script = 'read -r _; kill -QUIT $(head -n 1 "$0"/*/postmaster.pid) 2>/dev/null; sleep 1; rm -rf "$0"';
  spawn("/bin/sh", ["-c", script, directory], { stdio: ["pipe", "ignore", "ignore"], detached: true }).unref();
}

async function administer(sql: string): Promise<void> {
  const client = new Client(await serverUrl());
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

const nameOf = ({ url }: TestDatabase) => new URL(url).pathname.slice(1);
