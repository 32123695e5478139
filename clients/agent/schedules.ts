// Runs scripts by their schedules, in the time zone of the machine.
import { Cron } from "croner";
import { firstBy, firstInstant, hasZone, offsetAt } from "../../src/runtime/time-zones/zone-data.js";
import type { ManifestScript } from "./client.js";

/** Milliseconds. Timers are set again after it, since clocks may be adjusted. */
const longestWait = 600_000;

type Offset = (instant: number) => number;

/** The offset of the clocks of this machine, by the newest time zone data that it has, in milliseconds. */
function offsetHere(): Offset {
  const zone = process.env.TZ || Intl.DateTimeFormat().resolvedOptions().timeZone;
  return hasZone(zone)
    ? (instant) => offsetAt(zone, instant)
    : (instant) => -new Date(instant).getTimezoneOffset() * 60_000;
}

/**
 * Returns the first time after an instant at which an expression of five fields, or six with seconds, is due, both in Unix
 * milliseconds; `undefined` for never. Throws for a text that is no such expression. Local times that clocks skip are due at
 * the end of the gap. Of those that they repeat, only the first is, unless the expression is due every hour.
 */
export function nextDue(expression: string, offset: Offset, after: number): number | undefined {
  const cron = new Cron(expression, { mode: "5-or-6-parts", timezone: "UTC", paused: true });
  const isHourly = expression.trim().split(/\s+/).at(-4)!.startsWith("*");
  let local = cron.nextRun(new Date(after + offset(after)))?.getTime();
  if (local !== undefined && isHourly) {
    const here = offset(after);
    const due = local - offset(after);
    if (offset(due) === here) return due;
    if (offset(due) < here) {
      const change = firstInstant(after, due, (instant) => offset(instant) !== here);
      const repeated = cron.nextRun(new Date(change + offset(change) - 1_000));
      return repeated ? repeated.getTime() - offset(change) : undefined;
    }
  }
  for (; local !== undefined; local = cron.nextRun(new Date(local))?.getTime()) {
    const due = firstBy(offset, local);
    if (due > after) return due;
  }
  return undefined;
}

/**
 * Calls `run` whenever a script is due, until the signal is aborted. A script that still runs when it is due again is not
 * started twice. One whose expression is not valid never runs by it: `reject` is called instead.
 */
export function schedule(
  scripts: readonly ManifestScript[],
  run: (script: ManifestScript) => Promise<void>,
  reject: (script: ManifestScript) => void,
  signal: AbortSignal,
): void {
  const offset = offsetHere();
  for (const script of scripts.filter(({ cron }) => cron !== "")) {
    try {
      repeat(script, offset, run, signal);
    } catch {
      reject(script);
    }
  }
}

function repeat(
  script: ManifestScript,
  offset: Offset,
  run: (script: ManifestScript) => Promise<void>,
  signal: AbortSignal,
): void {
  let isRunning = false;
  let due = nextDue(script.cron, offset, Date.now());
  let timer: NodeJS.Timeout | undefined;
  const start = async () => {
    isRunning = true;
    try {
      await run(script);
    } catch {
      // The run has reported it.
    } finally {
      isRunning = false;
    }
  };
  const wait = () => {
    if (due === undefined || signal.aborted) return;
    timer = setTimeout(
      () => {
        if (Date.now() >= due!) {
          if (!isRunning) void start();
          due = nextDue(script.cron, offset, Math.max(due!, Date.now()));
        }
        wait();
      },
      Math.min(Math.max(due - Date.now(), 0), longestWait),
    ).unref();
  };
  wait();
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
}
