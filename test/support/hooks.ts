// Runs around the whole test run, in the process that hands the files to those that test.
import "reflect-metadata";
import { makeTemplate } from "./app.js";
import { openPostgres } from "./cluster.js";

let close: () => Promise<void>;

export async function mochaGlobalSetup(): Promise<void> {
  close = await openPostgres();
  await makeTemplate();
}

export const mochaGlobalTeardown = (): Promise<void> => close();
