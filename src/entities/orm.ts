import { MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Dialect } from "kysely";
import { entities } from "./index.js";

/** Creates the ORM for a database of this name, whose statements go to the connections of a dialect. Opens no connection yet. */
export const createOrm = (dialect: Dialect, database: string): MikroORM =>
  new MikroORM({
    dbName: database,
    driverOptions: dialect,
    entities,
    namingStrategy: UnderscoreNamingStrategy,
    forceUtcTimezone: true,
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    // Only migrations make triggers and functions; entities do not describe them.
    schemaGenerator: {
      ignoreTriggers: true,
      ignoreRoutines: true,
      // Partitions follow their parent.
      skipTables: [
        "migrations",
        "unfinished_migrations",
        "audit_events",
        "connection_logs",
        "inbox_notifications",
        /^(audit_log|connection_log|inbox)_(default|\d{4}_\d\d)$/,
      ],
    },
  });
