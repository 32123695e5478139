import { offsetAt, timeZoneNamed } from "./time-zones.js";

/** A local time of day in an IANA time zone. */
export interface DailySchedule {
  zone: string;
  hour: number;
  minute: number;
}

/** Splits `CRON_TZ=<zone> <minute> <hour> <day of month> <month> <weekday>` into the time zone and the cron fields. */
function partsOf(text: string) {
  const [first = "", ...rest] = text.trim().split(/\s+/);
  const named = /^CRON_TZ=(.*)$/.exec(first);
  return { zone: named ? named[1]! : "UTC", fields: named ? rest : [first, ...rest] };
}

const isNumberTo = (most: number, field: string) => /^\d{1,2}$/.test(field) && Number(field) <= most;

/** Returns the rule of daily schedules that `text` violates; `undefined` for a valid schedule. */
export function scheduleProblem(text: string): string | undefined {
  const { zone, fields } = partsOf(text);
  if (timeZoneNamed(zone) === undefined) return "The time zone must be an IANA name such as Europe/Berlin.";
  if (fields.length !== 5)
    return "Must be the five fields minute, hour, day of month, month and weekday, after CRON_TZ=<time zone> if not in UTC.";
  const [minute, hour, ...days] = fields as [string, string, string, string, string];
  if (!isNumberTo(59, minute)) return "The minute must be one number from 0 to 59.";
  if (!isNumberTo(23, hour)) return "The hour must be one number from 0 to 23.";
  const odd = days.findIndex((field) => field !== "*");
  return odd < 0 ? undefined : `The ${["day of month", "month", "weekday"][odd]} must be *.`;
}

/** Parses a schedule for which `scheduleProblem` returns `undefined`. */
export function scheduleOf(text: string): DailySchedule {
  const { zone, fields } = partsOf(text);
  return { zone: timeZoneNamed(zone)!, minute: Number(fields[0]), hour: Number(fields[1]) };
}

/** Formats a schedule in its canonical form. */
export const scheduleText = ({ zone, hour, minute }: DailySchedule): string =>
  `CRON_TZ=${zone} ${minute} ${hour} * * *`;

/** `HH:MM`. */
export const timeOfDay = ({ hour, minute }: DailySchedule): string =>
  [hour, minute].map((part) => String(part).padStart(2, "0")).join(":");

const day = 86_400_000;

/**
 * Returns the first start of a schedule after an instant, both in Unix milliseconds. A local time that clocks repeat
 * starts the first time; one that they skip starts at the end of the gap. Cron libraries skip the day of a gap that
 * ends at midnight, as in Nuuk.
 */
export function nextStart({ zone, hour, minute }: DailySchedule, now: number): number {
  const today = Math.floor((now + offsetAt(zone, now)) / day) * day;
  for (let time = today + (hour * 60 + minute) * 60_000; ; time += day) {
    const start = firstAt(zone, time);
    if (start > now) return start;
  }
}

/**
 * Returns the first instant at which the local time is `time`, or the end of the gap if clocks skip it. Local times are
 * written as if they were UTC. Clocks are assumed to change at most once within a day before and after.
 */
function firstAt(zone: string, time: number): number {
  const shown = (instant: number) => instant + offsetAt(zone, instant);
  const unchanged = time - offsetAt(zone, time - day);
  if (shown(unchanged) === time) return unchanged;
  const changed = time - offsetAt(zone, time + day);
  if (shown(changed) === time) return changed;

  let [before, after] = [changed, unchanged];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (shown(middle) < time) before = middle;
    else after = middle;
  }
  return after;
}
