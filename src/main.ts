// The process: settings, server, signals.
import "./node-version.js";
import "./compile-cache.js";
import "reflect-metadata";
import type { App } from "./app.js";
import {
  type Config,
  ConfigError,
  type Environment,
  exposedFiles,
  readConfig,
  unknownSettings,
} from "./config/config.js";
import { createLog } from "./log.js";

const config = settings(process.env);
const log = createLog(config);
for (const name of unknownSettings(process.env)) log.warn({ name }, "Unknown setting.");
for (const file of exposedFiles(process.env)) log.warn(file, "Other users of this machine can read this secret.");
process.on("uncaughtException", (error) => {
  log.fatal({ err: error }, "uncaught exception");
  process.exit(1);
});
// Read when the first job comes. Node's own four threads stay free for files and names while passwords are hashed.
process.env.UV_THREADPOOL_SIZE ??= String(4 + config.hashConcurrency);

// Loaded only now, so that a faulty setting is answered at once.
const { explainsItself, startApp } = await import("./app.js");
const stopping = new AbortController();
const starting = startApp(config, log, stopping.signal);
stopOnSignals(starting);
greet(await starting.catch(giveUp));

function settings(env: Environment): Config {
  try {
    return readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return process.exit(1);
  }
}

function giveUp(error: Error): never {
  if (error === stopping.signal.reason) process.exit(0);
  process.stderr.write(`Steward does not start: ${error.message}\n`);
  if (!explainsItself(error)) log.fatal({ err: error }, "start failed");
  process.exit(1);
}

/** Tells a person what to do next. The generated password is shown here and nowhere else. */
function greet({ url, services, administrator }: App): void {
  const { accessUrl, host } = services.config;
  const lines = [
    "",
    `  Steward serves ${accessUrl}`,
    "",
    `    GraphQL    ${accessUrl}/graphql`,
    `    REST       ${accessUrl}/docs`,
    ...(administrator ? ["", `    Sign in    ${administrator.email}`] : []),
    ...(administrator?.password ? [`    Password   ${administrator.password}   (shown this once)`] : []),
    ...(host === "127.0.0.1" ? ["", "  It answers this machine only; STEWARD_HOST=0.0.0.0 opens it to others."] : []),
    "",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
  log.info({ url }, "listening");
}

/**
 * The first signal ends a start that is under way, and lets running requests finish for as long as the grace lasts. The
 * second ends the process at once.
 */
function stopOnSignals(started: Promise<App>): void {
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
    log.info({ signal }, "draining");
    // Should a start or a goodbye hang, it still ends.
    setTimeout(() => process.exit(0), config.shutdownGrace + 5_000).unref();
    const app = await started.catch(giveUp);
    await app.close();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, (name) => void stop(name));
}
