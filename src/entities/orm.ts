import { Migrator } from "@mikro-orm/migrations";
import { MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import { SessionClient, sessionConfig } from "../infrastructure/database/session.js";
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
  const session = sessionConfig(url, {
    applicationName: "steward",
    // For statements that run for milliseconds, JIT compilation and the start of parallel workers cost more than they
    // save. Statements are prepared, one for each combination of filters, and planned once.
    settings: {
      jit: "off",
      max_parallel_workers_per_gather: "0",
      plan_cache_mode: "force_generic_plan",
      statement_timeout: String(statementTimeout),
      lock_timeout: String(Math.round(statementTimeout / 3)),
    },
  });
  let created: Pool | undefined;
  const orm = new MikroORM({
    dbName: session.database,
    entities,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    forceUtcTimezone: true,
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    // Only migrations make triggers and functions; entities do not describe them.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    migrations: { migrationsList: migrations, snapshot: false, tableName: "migrations", silent: true },
    // A function, whose result the ORM does not copy.
    driverOptions: () => ({
      ...session,
      Client: SessionClient,
      max,
      pipeline: true,
      onPoolCreated: (pool: Pool) => {
        created = pool;
      },
    }),
  });
  orm.em.getConnection().getClient();
  if (!created) throw new Error("The ORM made no pool.");
  return { orm, pool: created };
}
