// Runs around the whole test run, in the process that hands the files to those that test.
import "reflect-metadata";
import { execFileSync } from "node:child_process";
import { makeTemplate } from "./app.js";
import { openPostgres } from "./cluster.js";

let close: () => Promise<void>;

export async function mochaGlobalSetup(): Promise<void> {
  // What tests run as a process must be as new as the sources; two that compiled at once would break each other's.
  execFileSync(process.execPath, ["tools/prepare.mjs"], { stdio: "inherit" });
  close = await openPostgres();
  await makeTemplate();
}

export const mochaGlobalTeardown = (): Promise<void> => close();
