import { type EntityMetadata, type MetadataStorage, MikroORM, UnderscoreNamingStrategy } from "@mikro-orm/postgresql";
import type { Dialect } from "kysely";
import * as entities from "./index.js";

/** The metadata of the entities, which depend on no database: the first ORM of the process discovers them in 80 ms of CPU. */
let discovered: MetadataStorage | undefined;

/** An ORM with metadata that another one has discovered. */
class FurtherOrm extends MikroORM {
  readonly #metadata: MetadataStorage;

  constructor(metadata: MetadataStorage, options: ReturnType<typeof optionsOf>) {
    super({ ...options, discovery: { ...options.discovery, skipSyncDiscovery: true } });
    this.#metadata = metadata;
    this.driver.setMetadata(metadata);
    this.em = this.driver.createEntityManager() as MikroORM["em"];
    // The constructor that discovers entities does the same.
    Object.assign(this.em, { global: true });
  }

  override getMetadata(): MetadataStorage;
  override getMetadata<Entity extends object>(entity: new () => Entity): EntityMetadata<Entity>;
  override getMetadata(entity?: new () => object): unknown {
    return entity ? this.#metadata.get(entity) : this.#metadata;
  }
}

/** Creates the ORM for a database of this name, whose statements go to the connections of a dialect. Opens no connection yet. */
export function createOrm(dialect: Dialect, database: string): MikroORM {
  const options = optionsOf(dialect, database);
  if (discovered) return new FurtherOrm(discovered, options);
  const orm = new MikroORM(options);
  discovered = orm.getMetadata();
  return orm;
}

const optionsOf = (dialect: Dialect, database: string) => ({
  dbName: database,
  driverOptions: dialect,
  entities: Object.values(entities),
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
