import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ServerProcess } from "./process.js";
import type { Run } from "./run.js";

/** Milliseconds within which the server must become ready. */
const timeout = 60_000;

/** Above the load of any bench, which comes from a single address. The limits still count requests. */
const plenty = "1000000000";

/** Starts Steward as users run it, except for `changes` and for rate limits that are never reached. */
export async function startSteward(
  { databaseUrl, folder }: Run,
  changes: Readonly<Record<string, string>> = {},
): Promise<ServerProcess> {
  const environment = {
    STEWARD_DATABASE_URL: databaseUrl,
    STEWARD_DATA_DIR: join(folder, "data"),
    STEWARD_PORT: "0",
    STEWARD_RATE_LIMIT_API: plenty,
    STEWARD_SOCKETS_PER_USER: "0",
    STEWARD_RATE_LIMIT_CREDENTIAL: plenty,
    STEWARD_RATE_LIMIT_CREDENTIAL_IP: plenty,
    STEWARD_LOGIN_FAILURES_PER_HOUR: plenty,
    ...changes,
  };
  const server = await ServerProcess.start("../dist/main.js", environment);
  const deadline = performance.now() + timeout;
  while ((await fetch(new URL("/readyz", server.url))).status !== 200) {
    if (performance.now() > deadline) throw new Error("Steward did not become ready.");
    await sleep(2);
  }
  return server;
}
