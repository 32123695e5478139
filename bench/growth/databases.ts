import { databaseOf, withClient } from "../postgres.js";
import type { Run } from "../run.js";
import { startSteward } from "../steward.js";
import { fillSql } from "./fill.js";
import { type SizeName, sizes } from "./size.js";

/** Creates and fills a database of this size, and resolves to its URL. */
export async function createDatabase(name: SizeName, run: Run): Promise<string> {
  run.progress(`growth: filling the ${name} database`);
  const databaseUrl = databaseOf(run.databaseUrl, `growth_${name}`);
  await withClient(run.databaseUrl, (client) => client.query(`create database growth_${name}`));
  // A server creates what every database has.
  await (await startSteward({ ...run, databaseUrl }))[Symbol.asyncDispose]();
  await withClient(databaseUrl, async (client) => {
    await client.query(fillSql(sizes[name]));
    await client.query("vacuum analyze");
  });
  return databaseUrl;
}
