// The server as a process of its own: for what only a process can do, such as dying.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { freePort } from "../../src/embedded-postgres/folder.js";
import { ownerPassword } from "./app.js";

export interface ServerProcess {
  url: string;
  child: ChildProcess;
  /** Everything it has printed. */
  output(): string;
  /** Resolves with its status once it has ended: a number, or the signal that killed it. */
  ended: Promise<number | NodeJS.Signals>;
}

/** Starts the program and waits until it is ready. */
export async function spawnServer(settings: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const port = String(await freePort());
  const child = spawn(process.execPath, ["--import", "./tools/ts-loader.mjs", "src/main.ts"], {
    env: { PATH: process.env.PATH, STEWARD_PORT: port, STEWARD_ADMIN_PASSWORD: ownerPassword, STEWARD_ADMIN_EMAIL: "owner@example.com", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (printed += chunk.toString()));
  const ended = once(child, "exit").then(([status, signal]) => (signal ?? status) as number | NodeJS.Signals);
  const url = `http://127.0.0.1:${port}`;
  await ready(url, ended, () => printed);
  return { url, child, output: () => printed, ended };
}

async function ready(url: string, ended: Promise<unknown>, output: () => string): Promise<void> {
  let isOver = false;
  void ended.then(() => (isOver = true));
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; ) {
    if (isOver) throw new Error(`The server ended: ${output()}`);
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`The server did not become ready: ${output()}`);
}
