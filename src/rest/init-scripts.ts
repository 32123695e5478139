import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { agentProgramPath, initScript } from "../domain/agents/init-script.js";
import type { Services } from "../domain/kernel/context.js";
import { routeNotFound } from "../http/errors.js";
import type { Routes } from "../http/routes.js";
import { programFile } from "../runtime/program-files.js";

/** The program of external agents: one file without dependencies, which the build writes. */
const file = programFile("../dist/agent.mjs");

const scriptPath = "/api/v2/init-script/:os/:arch";

/** Registers what a machine fetches to run an external agent: a script, and the program that it checks and runs. */
export function routeInitScripts(routes: Routes, { config }: Pick<Services, "config">): void {
  // Only a program that is run from its sources lacks the file, before the first build.
  const program = existsSync(file) ? readFileSync(file) : undefined;
  const sha256 = program && createHash("sha256").update(program).digest("hex");
  routes.of(agentProgramPath).get(agentProgramPath, (http) => {
    if (!program) throw routeNotFound();
    http.type = "text/javascript";
    http.body = program;
  });
  routes.of(scriptPath).get(scriptPath, (http) => {
    const { os = "", arch = "" } = http.params;
    const script = sha256 && initScript({ accessUrl: config.accessUrl, sha256 }, os, arch);
    if (!script) throw routeNotFound();
    http.type = "text/plain";
    http.body = script;
  });
}
