import { type Closer, openServices } from "../app.js";
import { readConfig } from "../config/config.js";
import type { Services } from "../domain/kernel/context.js";
import { borrowCluster } from "../infrastructure/embedded-postgres/index.js";
import { createCommandLog } from "../observability/log.js";

/** Runs `work` with the services of the configured database, and releases them afterwards. */
export async function withServices<Result>(work: (services: Services) => Promise<Result>): Promise<Result> {
  const config = readConfig(process.env);
  // Standard output is reserved for the result.
  const log = createCommandLog({ ...config, logLevel: "warn" });
  const closers: Closer[] = [];
  try {
    return await work(await openServices(config, log, borrowCluster, closers));
  } finally {
    for (const close of closers.toReversed()) await close();
  }
}
