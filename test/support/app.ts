// The real server on a database of its own, one per test file. The only place that starts the program in this process.
import { pino } from "pino";
import { type App, startApp } from "../../src/app.js";
import { readConfig } from "../../src/config/config.js";
import { type Config, ConfigError } from "../../src/runtime/config.js";
import { systemActor } from "../../src/domain/kernel/actor.js";
import { Context } from "../../src/domain/kernel/context.js";
import { hooks } from "../../src/observability/log.js";
import { newId } from "./ids.js";
import { freePort } from "./ports.js";
import { createTemplate } from "./cluster.js";

export { type App, type Config, ConfigError, readConfig };

export const ownerPassword = "correct-horse-battery-staple-9";

/** Encryption keys of servers that do not generate their own. */
export const encryptionKeys = `test:${Buffer.alloc(32, "test").toString("base64")}`;

const settings = (databaseUrl: string): NodeJS.ProcessEnv => ({
  STEWARD_DATABASE_URL: databaseUrl,
  STEWARD_PORT: "0",
  STEWARD_ADMIN_EMAIL: "owner@example.com",
  STEWARD_ADMIN_USERNAME: "owner",
  STEWARD_ADMIN_PASSWORD: ownerPassword,
  STEWARD_ENCRYPTION_KEYS: encryptionKeys,
  // Tests that want jobs done run daemons of their own.
  STEWARD_BUILTIN_DAEMON: "false",
  // Tests of the health run the checks themselves.
  STEWARD_HEALTH_INTERVAL: "0s",
  // Each connection prepares its statements itself, which costs more than they do.
  STEWARD_DATABASE_POOL: "6",
  STEWARD_LOG_LEVEL: "error",
  STEWARD_REQUEST_LOG: "off",
  // All requests of a test come from one address.
  STEWARD_RATE_LIMIT_CREDENTIAL: "0",
  STEWARD_RATE_LIMIT_CREDENTIAL_IP: "0",
  STEWARD_RATE_LIMIT_API: "0",
  STEWARD_LOGIN_FAILURES_PER_HOUR: "0",
  STEWARD_OAUTH2_REGISTRATIONS_PER_HOUR: "0",
});

type LogLine = Record<string, unknown> & { level: number };

/** Parsed log lines of the started servers: from level `warn` up, and from level `info` up. */
export const logged: LogLine[] = [];
export const loggedFromInfo: LogLine[] = [];

const log = () =>
  pino(
    { level: "info", hooks },
    {
      write(text) {
        const line = JSON.parse(text) as LogLine;
        loggedFromInfo.push(line);
        if (line.level >= 40) logged.push(line);
      },
    },
  );

/** Creates the template database: migrated, with the administrator and the default organization. */
export const makeTemplate = (): Promise<void> =>
  createTemplate(async (url) => {
    const app = await startApp(readConfig(settings(url)), log());
    // Tests choose the keys of their servers: the first server on a copy claims it.
    await app.services.database.pool.query("delete from encryption_keys");
    await app.close();
  });

/** A hash of a fraction of a millisecond, instead of 35 of them. */
const cheapHash: Config["hashCost"] = { memory: 16, passes: 1 };

/** A change that lets a server hash passwords at their usual cost, for tests of its time and of stored hashes. */
export const usualHashes = { STEWARD_TEST_HASHES: "usual" };

/**
 * Starts a server on the database. Several on one database are replicas of each other. `unread` replaces limits; aborting
 * the signal ends a start in progress.
 */
export async function startServer(
  databaseUrl: string,
  { STEWARD_TEST_HASHES: hashes, ...changes }: NodeJS.ProcessEnv = {},
  unread: Partial<Config["unread"]> = {},
  signal?: AbortSignal,
): Promise<App> {
  const port = String(await freePort("127.0.0.1"));
  const config: Config = readConfig({ ...settings(databaseUrl), STEWARD_PORT: port, ...changes });
  const hashCost = hashes === "usual" ? config.hashCost : cheapHash;
  return startApp({ ...config, hashCost, unread: { ...config.unread, ...unread } }, log(), signal);
}

/** A context in which the server itself acts. */
export const systemContext = ({ services }: App, details: { ip?: string; userAgent?: string } = {}): Context =>
  new Context(services, systemActor, { id: newId(), ...details }, () => new AbortController());
