// Checks of the database and of what the servers keep in it.
import { sql } from "kysely";
import { migrations } from "../../entities/migrations/index.js";
import { tablesWithoutMonth } from "../../infrastructure/database/months.js";
import { instantOf } from "../../runtime/clock.js";
import { readRegisteredKeys } from "../encryption/encryption-keys.js";
import type { HealthCode } from "./catalog.js";
import {
  backups,
  databaseLatency,
  databasePool,
  databaseSettings,
  databaseSize,
  databaseVersion,
  encryptionKeys,
  migrationsDone,
  type SizeReading,
  standby,
} from "./judgements.js";
import { ofReplicas, type Probe } from "./probes.js";

const judgedSettings = ["fsync", "full_page_writes", "autovacuum", "track_counts"];

const sizeReading = sql<SizeReading>`
  select pg_database_size(current_database())::float8 as bytes,
         (select age(datfrozenxid) from pg_database where datname = current_database()) as "oldestId",
         worst.relname as "table", coalesce(worst.n_dead_tup, 0)::float8 as dead, coalesce(worst.n_live_tup, 0)::float8 as live
  from (values (1)) one (nr)
  left join (select relname, n_dead_tup, n_live_tup from pg_stat_user_tables order by n_dead_tup desc limit 1) worst on true`;

const allowedConnections = sql<{ allowed: number }>`
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as allowed`;

/** When Postgres last archived its write-ahead log, in Unix milliseconds; null if it archives none, or hides that. */
const lastArchived = sql<{ at: number | null }>`
  select (extract(epoch from last_archived_time) * 1000)::float8 as at from pg_stat_archiver`;

export const databaseProbes = {
  database_latency: async ({ replicas }) => databaseLatency(ofReplicas(replicas, (each) => each.databaseLatency)),
  database_version: async ({ db, at }) => {
    const { rows } = await sql<{ version: string }>`select current_setting('server_version') as version`.execute(db);
    return databaseVersion(rows[0]!.version, at);
  },
  database_settings: async ({ db }) => {
    const { rows } = await sql<{ name: string; setting: string }>`
      select name, setting from pg_settings where name = any(${judgedSettings}::text[])`.execute(db);
    return databaseSettings(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])));
  },
  database_size: async ({ db }) => databaseSize((await sizeReading.execute(db)).rows[0]!),
  database_pool: async ({ db, replicas }) => {
    const { rows } = await allowedConnections.execute(db);
    const pools = replicas.map(({ hostname, readings }) => ({
      hostname,
      size: readings.poolSize,
      waiting: readings.poolWaiting,
    }));
    return databasePool(pools, rows[0]!.allowed);
  },
  standby: async ({ replicas }) => standby(ofReplicas(replicas, (each) => each.isStandbyUsed)),
  migrations: async ({ db }) => {
    const names = async (table: string) =>
      (await sql<{ name: string }>`select name from ${sql.table(table)}`.execute(db)).rows.map(({ name }) => name);
    const executed = new Set(await names("migrations"));
    return migrationsDone({
      unfinished: await names("unfinished_migrations"),
      missing: migrations.map(({ name }) => name).filter((name) => !executed.has(name)),
      strayRows: await tablesWithoutMonth(db),
    });
  },
  encryption_keys: async ({ services }) => {
    const registered = await readRegisteredKeys(services);
    return encryptionKeys(registered.filter(({ id, isUsed }) => isUsed && !services.vault.has(id)).map(({ id }) => id));
  },
  backups: async ({ db, at }) => {
    const { createdAt, backedUpAt } = await db
      .selectFrom("deployment")
      .select(["createdAt", "backedUpAt"])
      .executeTakeFirstOrThrow();
    const archived = (await lastArchived.execute(db)).rows[0]?.at ?? null;
    const seen = [archived, backedUpAt === null ? null : instantOf(backedUpAt)].filter((time) => time !== null);
    return backups({ lastAt: seen.length > 0 ? Math.max(...seen) : null, since: instantOf(createdAt) }, at);
  },
} satisfies Partial<Record<HealthCode, Probe>>;
