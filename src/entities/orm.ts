import { Migrator } from "@mikro-orm/migrations";
import { MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Dialect } from "kysely";
import { entities } from "./index.js";
import { migrations } from "./migrations/index.js";

/** Creates the ORM for a database of this name, whose statements go to the connections of a dialect. Opens no connection yet. */
export const createOrm = (dialect: Dialect, database: string): MikroORM =>
  new MikroORM({
    dbName: database,
    driverOptions: dialect,
    entities,
    extensions: [Migrator],
    namingStrategy: UnderscoreNamingStrategy,
    forceUtcTimezone: true,
    ensureDatabase: false,
    discovery: { warnWhenNoEntities: false },
    // Only migrations make triggers and functions; entities do not describe them.
    schemaGenerator: { ignoreTriggers: true, ignoreRoutines: true },
    migrations: { migrationsList: migrations, snapshot: false, tableName: "migrations", silent: true },
  });
