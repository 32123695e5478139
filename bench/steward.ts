import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ServerProcess } from "./process.js";
import type { Run } from "./run.js";

/** Milliseconds between two looks at whether it is ready. */
const interval = 2;

/** Milliseconds in which it must get ready. */
const patience = 60_000;

/** What `npm start` runs: `node <options> dist/main.js`. */
const { start } = (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as Package).scripts;

interface Package {
  scripts: { start: string };
}

/** Steward as users run it; only the rate limit is off, since all the load of a bench comes from one address. */
export async function startSteward({ databaseUrl, folder }: Run): Promise<ServerProcess> {
  const server = await ServerProcess.start({
    script: "../dist/main.js",
    options: start.split(" ").slice(1, -1),
    env: {
      STEWARD_DATABASE_URL: databaseUrl,
      STEWARD_DATA_DIR: join(folder, "data"),
      STEWARD_PORT: "0",
      STEWARD_RATE_LIMIT_API: "0",
    },
  });
  const deadline = performance.now() + patience;
  while (!(await isReady(server.url))) {
    if (performance.now() > deadline) throw new Error("Steward does not get ready.");
    await sleep(interval);
  }
  return server;
}

const isReady = async (url: URL) => (await fetch(new URL("/readyz", url))).status === 200;
