// Hooks around the whole test run, in the process that distributes files to the workers, and around each file in its worker.
import "reflect-metadata";
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { isOfRest } from "../../tools/test-parts.mjs";
import { makeTemplate } from "./app.js";
import { openPostgres } from "./cluster.js";

let close: () => Promise<void>;

/** Whether files are run that start the compiled program, or use packages that only they need. */
const isRest = process.argv.some(isOfRest);

export async function mochaGlobalSetup(): Promise<void> {
  // Processes under test must run the current sources; concurrent builds would overwrite each other's output.
  if (isRest) execFileSync(process.execPath, ["tools/prepare.mjs", "--tools"], { stdio: "inherit" });
  close = await openPostgres();
  await makeTemplate();
}

export const mochaGlobalTeardown = (): Promise<void> => close();

/** The file to which each worker appends a line of JSON for each test file: its milliseconds, and those of CPU of its process. */
const times = process.env.STEWARD_TEST_TIMES;
let began: { at: number; cpu: NodeJS.CpuUsage };

export const mochaHooks = {
  beforeAll(): void {
    began = { at: Date.now(), cpu: process.cpuUsage() };
  },
  afterAll(this: Mocha.Context): void {
    if (!times) return;
    const { user, system } = process.cpuUsage(began.cpu);
    const file = relative(process.cwd(), this.test?.parent?.suites[0]?.file ?? "");
    const line = { file, wall: Date.now() - began.at, cpu: Math.round((user + system) / 1_000) };
    appendFileSync(times, `${JSON.stringify(line)}\n`);
  },
};
