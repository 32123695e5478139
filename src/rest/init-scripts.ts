import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { agentProgramPath, initScript } from "../domain/agents/init-script.js";
import type { Services } from "../domain/kernel/context.js";
import { type Http, send } from "../http/exchange.js";
import { TransportError } from "../http/responses.js";
import type { Routes } from "../http/routes.js";
import { programFile } from "../program-files.js";

/** The program of external agents: one file without dependencies, which the build writes. */
const file = programFile("../dist/agent.mjs");

const notFound = (): TransportError => new TransportError(404, "Route not found.");

/** Registers what a machine fetches to run an external agent: a script, and the program that it checks and runs. */
export function routeInitScripts(routes: Routes, { config }: Pick<Services, "config">): void {
  // Only a program that is run from its sources lacks the file, before the first build.
  const program = existsSync(file) ? readFileSync(file) : undefined;
  const sha256 = program && createHash("sha256").update(program).digest("hex");
  routes.register(agentProgramPath, ["GET"], (http: Http) => {
    if (!program) throw notFound();
    send(http, { status: 200, headers: { "Content-Type": "text/javascript; charset=utf-8" }, body: program });
  });
  routes.register("/api/v2/init-script/:os/:arch", ["GET"], (http: Http) => {
    const { os = "", arch = "" } = http.state.params;
    const script = sha256 && initScript({ accessUrl: config.accessUrl, sha256 }, os, arch);
    if (!script) throw notFound();
    send(http, { status: 200, headers: { "Content-Type": "text/plain; charset=utf-8" }, body: script });
  });
}
