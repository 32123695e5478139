import type { Migration } from "@mikro-orm/migrations";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import type { MigrationSql } from "./migration-sql.js";
import { migrateWithin } from "./migrator.js";
import { BackfillMigration } from "../../entities/migrations/backfill.js";
import { migrations } from "../../entities/migrations/index.js";

/** Returns the SQL of all migrations, in the order in which they run. */
export function migrationSql(orm: MikroORM): MigrationSql[] {
  return migrations.map(({ name, class: Kind }) => {
    const migration: Migration = new Kind(orm.em.getDriver(), orm.config) as Migration;
    void migration.up();
    const backfills = migration instanceof BackfillMigration ? migration.backfills : [];
    return { name, sql: migration.getQueries().map(String), backfills };
  });
}

/** Runs all migrations, or those up to one, in one transaction: in a database that no server uses. */
export async function migrateOffline({ orm, pool }: { orm: MikroORM; pool: Pool }, to?: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await migrateWithin(client, migrationSql(orm), to);
    await client.query("commit");
  } finally {
    client.release(true);
  }
}
