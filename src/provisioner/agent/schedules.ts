// Runs scripts by their schedules, in the time zone of the machine.
import { Cron } from "croner";
import type { ManifestScript } from "./client.js";

/**
 * Calls `run` whenever a script is due, until the signal is aborted. A script that still runs when it is due again is not
 * started twice.
 */
export function schedule(
  scripts: readonly ManifestScript[],
  run: (script: ManifestScript) => Promise<void>,
  signal: AbortSignal,
): void {
  const timers = scripts
    .filter(({ cron }) => cron !== "")
    .map((script) => new Cron(script.cron, { protect: true, unref: true, catch: true }, () => run(script)));
  const stop = () => {
    for (const timer of timers) timer.stop();
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
}
