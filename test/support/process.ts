// Runs the compiled program as a process of its own, for what only a process can do, such as printing and dying.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort } from "./ports.js";
import { encryptionKeys, ownerPassword } from "./app.js";
import { eventually } from "./watchers.js";

export interface Program {
  child: ChildProcess;
  stdout: () => string;
  stderr: () => string;
  /** Everything it has printed. */
  output: () => string;
  /** Resolves once it has ended and its output is read, with its exit status or the signal that killed it. */
  ended: Promise<number | NodeJS.Signals>;
}

export interface ServerProcess extends Program {
  url: string;
}

/** How the process runs. */
export interface Conditions {
  /** Maximum number of open file descriptors. */
  descriptors?: number;
  /** Node options. */
  options?: string[];
  /** The user that runs it, if not the user of the tests. */
  account?: { uid: number; gid: number };
  /** Its standard input; by default, it has none. */
  input?: string;
}

/** Starts the server and waits until it is ready. Settings given as "" are unset. */
export async function spawnServer(settings: NodeJS.ProcessEnv, conditions?: Conditions): Promise<ServerProcess> {
  const server = await spawnStart(settings, conditions);
  await ready(server);
  return server;
}

/** Starts the server without waiting; it may fail to start. */
export async function spawnStart(settings: NodeJS.ProcessEnv, conditions?: Conditions): Promise<ServerProcess> {
  const port = settings.STEWARD_PORT ?? String(await freePort("127.0.0.1"));
  const administrator = { STEWARD_ADMIN_PASSWORD: ownerPassword, STEWARD_ADMIN_EMAIL: "owner@example.com" };
  const usual = { ...administrator, STEWARD_ENCRYPTION_KEYS: encryptionKeys };
  const server = spawnProgram("dist/main.js", [], { ...usual, ...settings, STEWARD_PORT: port }, conditions);
  return { ...server, url: `http://127.0.0.1:${port}` };
}

/** Runs a command to its end. */
export async function command(settings: NodeJS.ProcessEnv, ...words: string[]) {
  const { ended, stdout, stderr } = spawnCommand(settings, ...words);
  return { status: await ended, stdout: stdout(), stderr: stderr() };
}

/** Starts a command. */
export const spawnCommand = (settings: NodeJS.ProcessEnv, ...words: string[]): Program =>
  spawnProgram("dist/cli/main.js", words, settings);

/** Starts a compiled program. */
export function spawnProgram(
  script: string,
  words: string[],
  settings: NodeJS.ProcessEnv,
  { descriptors, options = [], account, input }: Conditions = {},
): Program {
  const program = [process.execPath, ...options, script, ...words];
  const bounded = ["/bin/sh", "-c", `ulimit -n ${descriptors}; exec "$@"`, "sh", ...program];
  const [file, ...args] = descriptors === undefined ? program : bounded;
  const child = spawn(file!, args, {
    env: { PATH: process.env.PATH, ...settings },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    ...account,
  });
  child.stdin?.end(input);
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name]!.on("data", (chunk: Buffer) => (printed[name] += chunk.toString()));
  return {
    child,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    output: () => printed.stdout + printed.stderr,
    ended: once(child, "close").then(([status, signal]) => (signal ?? status) as number | NodeJS.Signals),
  };
}

async function ready({ url, ended, output }: ServerProcess): Promise<void> {
  let isOver = false;
  void ended.then(() => (isOver = true));
  const isReady = async () => {
    if (isOver) throw new Error(`The server ended: ${output()}`);
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await eventually(isReady, () => `the server becomes ready: ${output()}`, 60_000);
}
