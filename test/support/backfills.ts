// Fills in the values of rows from before a migration, as an upgrade does.
// Looks inside: runs statements of migrations, which no interface does.
import { migrationSql } from "../../src/infrastructure/database/migrations.js";
import type { World } from "./world.js";

/** Runs each statement of a migration that fills in existing rows once. Returns how many rows each has changed. */
export async function fillIn({ app }: World, migration: string): Promise<Array<number | null>> {
  const { orm, pool } = app.services.database;
  const { backfills } = migrationSql(orm).find(({ name }) => name === migration)!;
  const counts: Array<number | null> = [];
  for (const statement of backfills) counts.push((await pool.query(statement)).rowCount);
  return counts;
}
