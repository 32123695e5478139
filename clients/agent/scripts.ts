// Runs the scripts of an agent, with their timeouts, and reports their results.
import { delay } from "../api/delay.js";
import type { Pace } from "./pace.js";
import type { ManifestScript, ScriptResult } from "./client.js";
import type { Groups } from "./groups.js";
import { Lines } from "./output.js";
import type { Running } from "./processes.js";
import { ScriptFile, type ScriptPlace } from "./script-files.js";

/** The part of an agent that its scripts use. */
export interface ScriptHost {
  groups: Groups;
  log(source: string, line: string, level?: "ERROR"): void;
  report(result: ScriptResult): void;
  /** Where the files of their output are. */
  place: ScriptPlace;
  pace: Pace;
}

export type ScriptStatus = ScriptResult["status"];

/** Exit code of a script that could not be started or was ended by a signal, as shells report it. */
const noExitCode = 126;

const shell = (script: string): string[] =>
  process.platform === "win32" ? ["powershell", "-NoProfile", "-Command", script] : ["sh", "-c", script];

/** Runs scripts concurrently. Returns the worst status; `OK` if there are none. Aborting the signal ends them. */
export async function runScripts(
  scripts: readonly ManifestScript[],
  host: ScriptHost,
  signal: AbortSignal,
): Promise<ScriptStatus> {
  const results = await Promise.all(scripts.map((script) => runScript(script, host, signal)));
  const order: ScriptStatus[] = ["EXIT_FAILURE", "TIMED_OUT", "PIPES_LEFT_OPEN"];
  return order.find((status) => results.includes(status)) ?? "OK";
}

async function runScript(script: ManifestScript, host: ScriptHost, signal: AbortSignal): Promise<ScriptStatus> {
  const startedAt = new Date().toISOString();
  const { exitCode, status } = await outcome(script, host, signal);
  if (status !== "OK") host.log(script.logSourceId, sentences[status](script, exitCode), "ERROR");
  host.report({ scriptId: script.id, exitCode, status, startedAt, endedAt: new Date().toISOString() });
  return status;
}

const sentences: Record<Exclude<ScriptStatus, "OK">, (script: ManifestScript, exitCode: number) => string> = {
  EXIT_FAILURE: ({ displayName }, exitCode) => `The script "${displayName}" failed with status ${exitCode}.`,
  TIMED_OUT: ({ displayName, timeoutSeconds }) =>
    `The script "${displayName}" was ended after its timeout of ${timeoutSeconds} s.`,
  PIPES_LEFT_OPEN: ({ displayName }) =>
    `The script "${displayName}" has ended, but a process that it started still holds its output open.`,
};

async function outcome(
  { script, timeoutSeconds, logPath, logSourceId }: ManifestScript,
  host: ScriptHost,
  signal: AbortSignal,
): Promise<Pick<ScriptResult, "exitCode" | "status">> {
  const lines = new Lines((line) => host.log(logSourceId, line));
  const file = await ScriptFile.open(logPath, host.place, (fault) => host.log(logSourceId, fault, "ERROR"));
  let running: Running;
  try {
    running = await host.groups.start(shell(script));
  } catch (error) {
    await file?.close();
    host.log(logSourceId, `The script could not be started: ${(error as Error).message}`, "ERROR");
    return { exitCode: noExitCode, status: "EXIT_FAILURE" };
  }
  const closed = running.read((chunk) => {
    lines.add(chunk);
    file?.add(chunk);
  });
  const over = new AbortController();
  const timeout = timeoutSeconds > 0 ? delay(timeoutSeconds * 1000, over.signal) : new Promise<void>(() => {});
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const stopped = Promise.race([timeout, signal.aborted ? undefined : aborted]).then(() => "stopped" as const);
  const ended = await Promise.race([running.ended, stopped]);
  over.abort();
  if (ended === "stopped")
    await host.groups.end(running).catch((error: Error) => host.log(logSourceId, error.message, "ERROR"));
  const exitCode = (ended === "stopped" ? await running.ended : ended) ?? noExitCode;
  const isClosed = await Promise.race([closed.then(() => true), delay(host.pace.pipes).then(() => false)]);
  lines.end();
  await file?.close();
  // Processes that outlive the script end with the agent.
  if (!host.groups.isRunning(running)) host.groups.forget(running);
  if (ended === "stopped") return { exitCode, status: signal.aborted ? "EXIT_FAILURE" : "TIMED_OUT" };
  if (exitCode !== 0) return { exitCode, status: "EXIT_FAILURE" };
  return { exitCode, status: isClosed ? "OK" : "PIPES_LEFT_OPEN" };
}
