import { Migrator } from "@mikro-orm/migrations";
import { MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Pool } from "pg";
import { entities } from "./index.js";
import { migrations } from "./migrations/index.js";

export interface OrmOptions {
  url: string;
  /** Connections at most. */
  pool: number;
  /** Milliseconds after which Postgres cancels a statement; a third of them if it waits for a lock. */
  statementTimeout: number;
}

/** Connects entities to Postgres. Resolves before the first connection is made; gives the pool that all statements share. */
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
    migrations: { migrationsList: migrations, snapshot: false, tableName: "migrations", silent: true },
    driverOptions: {
      max,
      pipeline: true,
      connectionTimeoutMillis: 5_000,
      // Compiling statements that run for milliseconds costs more than it saves.
      options: `-c TimeZone=UTC -c jit=off -c statement_timeout=${statementTimeout} -c lock_timeout=${lockTimeout}`,
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
