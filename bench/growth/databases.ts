import { databaseOf, withClient } from "../postgres.js";
import type { Run } from "../run.js";
import { startSteward } from "../steward.js";
import { fillSql } from "./fill.js";
import type { Size } from "./size.js";

/** Creates and fills a database of this size, and resolves to its URL. */
export async function createDatabase(name: string, size: Size, run: Run): Promise<string> {
  run.progress(`filling the database ${name}`);
  const databaseUrl = databaseOf(run.databaseUrl, name);
  await withClient(run.databaseUrl, (client) => client.query(`create database ${name}`));
  // A server creates what every database has.
  await (await startSteward({ ...run, databaseUrl }, { STEWARD_BUILTIN_DAEMON: "false" }))[Symbol.asyncDispose]();
  await withClient(databaseUrl, async (client) => {
    await client.query(fillSql(size));
    await client.query("vacuum analyze");
  });
  return databaseUrl;
}
