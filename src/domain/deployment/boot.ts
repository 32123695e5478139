import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { ConfigError } from "../../runtime/config.js";
import { type Context, type Services, systemContext } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { makeMonths } from "../../infrastructure/database/months.js";
import { now } from "../kernel/queries.js";
import { numberOf, takeTurn } from "../../infrastructure/database/locks.js";
import { migrations } from "../../entities/migrations/index.js";
import type { Database } from "../../infrastructure/database/database.js";
import { migrationSql } from "../../infrastructure/database/migrations.js";
import { isConnectionFault, isRejected } from "../../infrastructure/database/availability.js";
import { Migrator } from "../../infrastructure/database/migrator.js";
import { type Administrator, createAdministrator } from "./administrators.js";
import { readClock } from "./clock.js";
import { ensurePageKey } from "./signed-values.js";
import { compareConfiguration } from "../external-auth/providers.js";
import { unlockVault } from "../encryption/encryption-keys.js";
import { DomainError } from "../kernel/errors.js";
import { StartRefused } from "../../runtime/errors.js";
import { storeConfiguredLicense } from "../licenses/licenses.js";
import { addOrganization } from "../organizations/organizations.js";

export type { Administrator } from "./administrators.js";

/** The services that exist before the first request: all but the event bus and its subscribers. */
export type BootServices = Pick<Services, "config" | "database" | "passwords" | "vault" | "log">;

/**
 * Prepares the database: waits for it, migrates it, checks the encryption keys, and initializes an empty one. Servers
 * that start concurrently take turns. Returns the first administrator if this start created one. Aborting the signal ends
 * the wait.
 */
export const firstBoot = (services: BootServices, signal?: AbortSignal): Promise<Administrator | undefined> =>
  onOwnSessions(services, (database) => boot({ ...services, database }, signal), signal);

async function boot(services: BootServices, signal?: AbortSignal): Promise<Administrator | undefined> {
  await migrateOn(services, signal);
  // Hints are discarded: no subscriber exists before the boot ends.
  const ctx = systemContext(services as Services);
  return ctx.transactional(async () => {
    await takeTurn(ctx, "boot");
    await unlockVault(ctx);
    await createDeployment(ctx);
    await ensurePageKey(ctx);
    await compareConfiguration(ctx);
    await compareCarriers(ctx);
    await storeConfiguredLicense(ctx);
    return createFirstAdministrator(ctx);
  });
}

/**
 * Migrates the database to the version of this program, while servers of earlier versions may use it. Throws
 * `StartRefused` if it is newer.
 */
export const migrate = (services: BootServices, signal?: AbortSignal): Promise<void> =>
  onOwnSessions(services, (database) => migrateOn({ ...services, database }, signal), signal);

/**
 * Runs `work` without time limits on connections with sessions of their own, once the database is available. Throws
 * `StartRefused` if a pooler has no such sessions, or if the direct URL leads to another database.
 */
export async function onOwnSessions<Result>(
  services: Pick<Services, "database" | "log">,
  work: (database: Database) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { database, log } = services;
  if (database.hasDirectUrl) await waitForDatabase(services, signal);
  return database.withoutTimeouts(async (direct) => {
    await waitForDatabase({ database: direct, log }, signal, database.hasDirectUrl ? directUrl : undefined);
    if (database.hasDirectUrl && !(await direct.isSameAs(database)))
      throw new StartRefused(`${directUrl} leads to another database than STEWARD_DATABASE_URL.`);
    return work(direct);
  });
}

const directUrl = "STEWARD_DATABASE_DIRECT_URL";

async function migrateOn({ database, log }: BootServices, signal?: AbortSignal): Promise<void> {
  const migrator = new Migrator({
    pools: database.pools,
    migrations: migrationSql(database.orm),
    turn: numberOf("boot"),
    check: rejectNewer,
    log,
  });
  for (;;) {
    await waitForDatabase({ database, log }, signal);
    try {
      const done = await migrator.run(signal);
      if (done.length > 0) log.info({ migrations: done }, "The database was migrated.");
      return await makeMonths({ db: database.db, log });
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
    }
  }
}

function rejectNewer(executed: string[]): void {
  const known = new Set(migrations.map(({ name }) => name));
  const newest = executed.findLast((name) => !known.has(name));
  if (newest === undefined) return;
  throw new StartRefused(
    `The database is newer than this program: it has the migration ${newest}. Start the version that made it, or a later one.`,
  );
}

/** Milliseconds to wait for an unavailable database, and between attempts. */
const timeout = 60_000;
const retryInterval = 500;

const oldestPostgres = 14;

/**
 * Waits until the database is available. Throws `StartRefused` after a minute, or if its Postgres is too old. `setting` is
 * the name of the URL, if it is not the usual one: that one has led to a server, so that no one is still installing it.
 */
async function waitForDatabase(
  { database, log }: Pick<Services, "database" | "log">,
  signal?: AbortSignal,
  setting?: string,
): Promise<void> {
  const deadline = performance.now() + timeout;
  let reason: string | undefined;
  for (;;) {
    try {
      const { rows } = await sql<{ version: number }>`
        select current_setting('server_version_num')::int / 10000 as version`.execute(database.db);
      if (rows[0]!.version < oldestPostgres)
        throw new StartRefused(`Steward needs Postgres ${oldestPostgres} or newer.`);
      return await readClock({ database, log });
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof StartRefused)
        throw setting ? new StartRefused(`${setting} cannot be used. ${message}`) : error;
      if (setting && isRejected(error)) throw new StartRefused(`The database rejects ${setting}: ${message}`);
      if (message !== reason) log.info({ reason: message, setting }, "Waiting for the database.");
      reason = message;
      if (performance.now() > deadline)
        throw new StartRefused(
          `The database was unavailable for a minute${setting ? ` at ${setting}` : ""}: ${message}`,
        );
      await delay(retryInterval, undefined, { signal });
    }
  }
}

/** Logs a warning if the last server that started has another carrier of hints: replicas on different ones do not hear each other. */
async function compareCarriers(ctx: Context): Promise<void> {
  const carrier = ctx.config.eventsUrl === undefined ? "postgres" : "nats";
  const { eventsCarrier: former } = await ctx.db
    .selectFrom("deployment")
    .select("eventsCarrier")
    .executeTakeFirstOrThrow();
  if (former === carrier) return;
  await ctx.db.updateTable("deployment").set({ eventsCarrier: carrier }).execute();
  if (former)
    ctx.log.warn(
      { carrier, former },
      "STEWARD_EVENTS_URL is not that of the last start: replicas on Postgres and those on NATS do not hear each other. All must agree.",
    );
}

/** Users that act for the system and cannot sign in. Their addresses use a reserved domain (RFC 2606). */
const systemIdentities = [
  { username: "system", name: "System" },
  { username: "prebuilds", name: "Prebuilt workspaces" },
];

/** Initializes an empty database with the default organization and the system users. */
async function createDeployment(ctx: Context): Promise<void> {
  const isNew = await ctx.db
    .insertInto("deployment")
    .values({ id: newId(), createdAt: now })
    .onConflict((conflict) => conflict.doNothing())
    .returning("id")
    .executeTakeFirst();
  if (!isNew) return;
  await addOrganization(ctx, { name: ctx.config.defaultOrganization, displayName: "Default", isDefault: true });
  const identities = systemIdentities.map((identity) => ({
    ...identity,
    id: newId(),
    email: `${identity.username}@steward.invalid`,
    loginType: "none" as const,
    isSystem: true,
    createdAt: now,
    updatedAt: now,
  }));
  await ctx.db.insertInto("users").values(identities).execute();
}

/** Creates the configured administrator, unless there is or was any user. */
async function createFirstAdministrator(ctx: Context): Promise<Administrator | undefined> {
  const users = ctx.db.selectFrom("users").select("id").where("isSystem", "=", false).limit(1);
  if (await users.executeTakeFirst()) return undefined;
  const { adminEmail: email, adminUsername: username, adminPassword: password } = ctx.config;
  try {
    return await createAdministrator(ctx, { email, username, password });
  } catch (error) {
    throw error instanceof DomainError ? new ConfigError(faultsOf(error)) : error;
  }
}

const settings: Record<string, string> = {
  email: "STEWARD_ADMIN_EMAIL",
  username: "STEWARD_ADMIN_USERNAME",
  password: "STEWARD_ADMIN_PASSWORD",
};

const faultsOf = ({ details, message }: DomainError): string[] =>
  details.validations?.map(({ field, detail }) => `${settings[field]}: ${detail}`) ?? [message];
