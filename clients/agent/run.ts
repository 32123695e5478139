// The process of an external agent.
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { misused, UsageError } from "../../src/runtime/manual.js";
import { printError, printLine } from "../../src/runtime/terminal.js";
import { delay } from "../api/delay.js";
import { pace } from "./pace.js";
import { handleOptions, manual, matching, readSettings, serverUrl, StartRefused } from "../api/settings.js";
import { version } from "../api/version.js";
import { ownName } from "./processes.js";
import { Agent } from "./agent.js";
import { AgentClient, type Manifest, OperationFailed, TokenEnded } from "./client.js";

const settings = {
  url: { name: "STEWARD_URL", read: serverUrl, rule: "an http or https URL without a path", meaning: "URL of Steward" },
  token: {
    name: "STEWARD_AGENT_TOKEN",
    read: matching(/^stwa_\S+$/),
    rule: "an agent token, which starts with stwa_",
    meaning: "Token of the agent, from the credentials of the external agent",
    isSecret: true,
  },
};

const help = `Usage: npm run agent [-- --help | --version]

Runs an external agent: connects this machine to a workspace, starts the command
and the scripts of the agent's template, and checks its apps. It ends when the
workspace is stopped or deleted.

Environment variables
${manual(settings)}`;

const log = (message: string) => printLine(`${new Date().toISOString()} ${message}`);

/** Why the agent ends. The token ends when the stop of the workspace is complete, which may be before a heartbeat. */
const endings = {
  shutdown: "The workspace is being stopped.",
  token: "The workspace was stopped, or started again with another token.",
  signal: "Stopping.",
};
type Ending = keyof typeof endings;

async function main(): Promise<void> {
  handleOptions(process.argv.slice(2), help, version);
  const { url, token } = readSettings(settings, process.env);
  log(`Steward agent ${version}, server ${url}.`);
  const ended = Promise.withResolvers<Ending>();
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => ended.resolve("signal"));

  const manifest = await Promise.race([fetchManifest(new AgentClient(url, token, pace.request)), ended.promise]);
  if (manifest === "signal") return;
  const { agentName, ownerUsername, workspaceName } = manifest as Manifest;
  const folder = await mkdtemp(join(tmpdir(), "steward-agent-"));
  const agent = new Agent(manifest as Manifest, {
    url,
    token,
    place: { home: homedir(), temporary: tmpdir(), user: ownName() },
    output: join(folder, "output"),
    isConfined: false,
    parameters: [],
    onTokenEnd: () => ended.resolve("token"),
    onShutdown: () => ended.resolve("shutdown"),
    log,
  });
  try {
    await agent.launch();
    agent.begin();
    log(`Running as agent ${agentName} of ${ownerUsername}/${workspaceName}.`);
    log(endings[await ended.promise]);
    await agent.stop();
  } catch (error) {
    await agent.kill();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Fetches the manifest, again and again while the server cannot be reached. */
async function fetchManifest(client: AgentClient): Promise<Manifest> {
  for (let pause = pace.reconnect; ; pause = Math.min(pause * 2, pace.reconnectMost)) {
    try {
      return await client.manifest();
    } catch (error) {
      if (!(error instanceof OperationFailed && error.isTemporary)) throw error;
      log(`${error.message} Trying again in ${Math.round(pause / 1000)} s.`);
      await delay(pause);
    }
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  const { message, stack } = error as Error;
  const isExplained = [StartRefused, TokenEnded, OperationFailed, UsageError].some((kind) => error instanceof kind);
  printError(isExplained || (error as NodeJS.ErrnoException).code ? message : String(stack));
  process.exit(error instanceof UsageError ? misused : 1);
}
