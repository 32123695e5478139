import { Migrator } from "@mikro-orm/migrations";
import { MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import { entities } from "./index.js";
import { migrations } from "./migrations/index.js";

export interface OrmOptions {
  url: string;
  /** Maximum number of connections. */
  pool: number;
  /** Milliseconds after which Postgres cancels a statement. A third of it is the timeout for locks. */
  statementTimeout: number;
}

/** Creates the ORM, and the pool that all statements share. Opens no connection yet. */
export function createOrm({ url, pool: max, statementTimeout }: OrmOptions): { orm: MikroORM; pool: Pool } {
  const lockTimeout = Math.round(statementTimeout / 3);
  let created: Pool | undefined;
  const orm = new MikroORM({
    clientUrl: url,
    entities,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    forceUtcTimezone: true,
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    // Only migrations make triggers and functions; entities do not describe them.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    migrations: { migrationsList: migrations, snapshot: false, tableName: "migrations", silent: true },
    driverOptions: {
      max,
      pipeline: true,
      connectionTimeoutMillis: 5_000,
      // JIT compilation of statements that run for milliseconds costs more than it saves. Statements are prepared, one for
      // each combination of filters, and planned once.
      options: `-c TimeZone=UTC -c jit=off -c plan_cache_mode=force_generic_plan -c statement_timeout=${statementTimeout} -c lock_timeout=${lockTimeout}`,
      application_name: "steward",
      onPoolCreated: (pool: Pool) => {
        created = pool;
      },
    },
  });
  orm.em.getConnection().getClient();
  if (!created) throw new Error("The ORM made no pool.");
  return { orm, pool: created };
}
