// Hooks around the whole test run, in the process that distributes files to the workers.
import "reflect-metadata";
import { execFileSync } from "node:child_process";
import { makeTemplate } from "./app.js";
import { openPostgres } from "./cluster.js";

let close: () => Promise<void>;

export async function mochaGlobalSetup(): Promise<void> {
  // Processes under test must run the current sources; concurrent builds would overwrite each other's output.
  execFileSync(process.execPath, ["tools/prepare.mjs", "--tools"], { stdio: "inherit" });
  close = await openPostgres();
  await makeTemplate();
}

export const mochaGlobalTeardown = (): Promise<void> => close();
