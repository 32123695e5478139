// How many workspaces are prebuilt for a preset at a time.
import { Cron } from "croner";
import { LRUCache } from "lru-cache";
import { offsetAt } from "../../runtime/time-zones/zone-data.js";

/** A number of prebuilt workspaces that holds in the minutes that match a cron expression. */
export interface PrebuildSchedule {
  /** Five fields of which the minute is `*`, such as `* 8-17 * * 1-5`. */
  cron: string;
  /** IANA name. */
  timezone: string;
  instances: number;
}

/** Returns the rule that the expression of a schedule violates; `undefined` for a valid one. */
export function hoursProblem(cron: string): string | undefined {
  if (cron.length > 100 || !/^\* [^\s]+ [^\s]+ [^\s]+ [^\s]+$/.test(cron))
    return "Must be the five fields of cron, at most 100 characters, of which the minute is *: * 8-17 * * 1-5.";
  try {
    hoursOf(cron);
    return undefined;
  } catch {
    return "Must be the five fields of cron, such as * 8-17 * * 1-5.";
  }
}

const parsed = new LRUCache<string, Cron>({ max: 1000 });

/** The parsed expression, which matches local times that are written as if they were UTC. Throws for a text that is none. */
function hoursOf(cron: string): Cron {
  let hours = parsed.get(cron);
  if (!hours) {
    hours = new Cron(cron, { mode: "5-part", timezone: "UTC", paused: true });
    parsed.set(cron, hours);
  }
  return hours;
}

const minute = 60_000;

/** Returns the number of the first schedule that holds at a time, in Unix milliseconds; null if none does. */
export function scheduledInstances(schedules: readonly PrebuildSchedule[], time: number): number | null {
  // An expression without seconds matches the first second of each minute.
  const start = Math.floor(time / minute) * minute;
  const isMatch = ({ cron, timezone }: PrebuildSchedule) =>
    hoursOf(cron).match(new Date(start + offsetAt(timezone, start)));
  return schedules.find(isMatch)?.instances ?? null;
}
