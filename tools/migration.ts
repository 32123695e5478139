// Prints the SQL that migrates the current schema to the one described by the entities: the body of the next migration.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster } from "../src/infrastructure/embedded-postgres/index.js";
import { migrateOffline } from "../src/infrastructure/database/migrations.js";
import { openDatabase } from "../src/infrastructure/database/database.js";

const directory = await mkdtemp(join(tmpdir(), "steward-migration-"));
const cluster = await startCluster({
  directory,
  fsync: false,
  log: { info() {}, warn: console.error, error: console.error },
});
const database = openDatabase({ url: cluster.url, pool: 2, statementTimeout: 60_000 });
try {
  await migrateOffline(database);
  console.log((await database.orm.schema.getUpdateSchemaSQL({ wrap: false })).trim() || "The migrations are complete.");
} finally {
  await database.close();
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
}
