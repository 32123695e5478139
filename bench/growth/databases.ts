import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { databaseOf, withClient } from "../postgres.js";
import type { Run } from "../run.js";
import { startSteward } from "../steward.js";
import { fillSql } from "./fill.js";
import { type SizeName, sizes } from "./size.js";

/** Returns the URL of a filled database of this size: one that an earlier run left in the cluster, or a new one. */
export async function databaseOfSize(name: SizeName, run: Run): Promise<string> {
  const fill = fillSql(sizes[name]);
  const database = `growth_${name}_${fingerprint(fill)}`;
  const url = databaseOf(run.databaseUrl, database);
  const isThere = await withClient(run.databaseUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      `select datname from pg_database where datname like 'growth\\_${name}\\_%'`,
    );
    if (rows.some(({ datname }) => datname === database)) return true;
    for (const { datname } of rows) await client.query(`drop database ${datname}`);
    await client.query(`create database ${database}_new`);
    return false;
  });
  if (!isThere) {
    await fillDatabase(`${url}_new`, fill, name, run);
    await withClient(run.databaseUrl, (client) => client.query(`alter database ${database}_new rename to ${database}`));
  }
  return url;
}

/** Lets a server create what every database has, and inserts the rest with SQL. */
async function fillDatabase(databaseUrl: string, fill: string, name: SizeName, run: Run): Promise<void> {
  run.progress(`growth: filling the ${name} database`);
  await (await startSteward({ ...run, databaseUrl }))[Symbol.asyncDispose]();
  await withClient(databaseUrl, async (client) => {
    await client.query(fill);
    await client.query("vacuum analyze");
  });
}

const migrations = new URL("../../src/entities/migrations/", import.meta.url);

/** A hash of everything that determines the content of the database. */
function fingerprint(fill: string): string {
  const hash = createHash("sha256").update(fill);
  for (const file of readdirSync(migrations).toSorted()) hash.update(readFileSync(new URL(file, migrations)));
  return hash.digest("hex").slice(0, 12);
}
