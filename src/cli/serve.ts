// The process of the server: reads the settings, starts the server, and handles signals.
import "reflect-metadata";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { App } from "../app.js";
import { handleOptions } from "./server-options.js";
import { exposedFiles, readConfig, unknownSettings } from "../config/config.js";
import { type Config, ConfigError, type Environment } from "../runtime/config.js";
import { second } from "../runtime/durations.js";
import { print, printError } from "../runtime/terminal.js";
import { describeZoneData } from "../runtime/time-zones/zone-data.js";
import { createServerLog } from "../observability/log.js";
import { startTracing } from "../observability/tracing/start.js";

handleOptions(process.argv.slice(2));
const config = settings(process.env);
const log = createServerLog(config);
for (const name of unknownSettings(process.env)) log.warn({ name }, "Unknown setting.");
for (const file of exposedFiles(process.env)) log.warn(file, "Other users of this machine can read this secret.");
process.on("uncaughtException", (error) => {
  log.fatal({ err: error }, "uncaught exception");
  process.exit(1);
});
// Node reads this variable when it first uses the thread pool. The four default threads stay available for file system
// and DNS operations while passwords are hashed.
process.env.UV_THREADPOOL_SIZE ??= String(4 + config.hashConcurrency);

// A start is never silent for long: loading the program takes time, the first start creates a database, and a start may
// wait for one.
log.info({ timeZoneData: describeZoneData() }, "starting");
const said = setInterval(() => log.info({ seconds: Math.round(performance.now() / 1_000) }, "still starting"), 1_500);

// Imported dynamically, so that invalid settings are reported without loading the server.
const { explainsItself, startApp } = await import("../app.js");
const stopTracing = await startTracing(process.env, log);
const stopping = new AbortController();
const starting = startApp(config, log, stopping.signal);
stopOnSignals(starting);
greet(await starting.catch(giveUp).finally(() => clearInterval(said)));
setTimeout(freeMemory, 20 * second).unref();

function settings(env: Environment): Config {
  try {
    return readConfig(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    printError(error.message);
    return process.exit(1);
  }
}

function giveUp(error: Error): never {
  if (error === stopping.signal.reason) process.exit(0);
  printError(`Steward failed to start: ${error.message}`);
  if (!explainsItself(error)) log.fatal({ err: error }, "start failed");
  process.exit(1);
}

/** Prints the URLs and, on the first start, the administrator. The generated password is shown only here. */
function greet({ url, services, administrator }: App): void {
  const { accessUrl, host } = services.config;
  const lines = [
    "",
    `  Steward is running at ${accessUrl}`,
    "",
    `    Console    ${accessUrl}`,
    ...(administrator ? [`    Email      ${administrator.email}`] : []),
    ...(administrator?.password ? [`    Password   ${administrator.password}   (shown only once)`] : []),
    "",
    `    REST       ${accessUrl}/docs`,
    `    GraphQL    ${accessUrl}/graphql`,
    ...(host === "127.0.0.1"
      ? ["", "  It accepts connections from this machine only. Set STEWARD_HOST=0.0.0.0 to accept others."]
      : []),
    "",
  ];
  print(lines.join("\n"));
  log.info({ url }, "listening");
}

/**
 * Gives the memory of what the start made and the first run of each job used back to the system, in about 50 ms. V8 does so
 * only when it collects garbage, which a server with few requests hardly makes.
 */
function freeMemory(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/**
 * Stops the server on SIGTERM and SIGINT. The first signal aborts a start in progress, or lets running requests complete
 * within the grace period. The second signal ends the process immediately.
 */
function stopOnSignals(started: Promise<App>): void {
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping.signal.aborted) process.exit(1);
    stopping.abort();
    log.info({ signal }, "draining");
    // Ends the process even if the start or the shutdown hangs.
    setTimeout(() => process.exit(0), config.shutdownGrace + 5_000).unref();
    const app = await started.catch(giveUp);
    await app.close();
    await stopTracing();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, (name) => void stop(name));
}
