import { firstAt, offsetAt } from "../../runtime/time-zones/zone-data.js";
import { textBy, type TextRule } from "../kernel/values.js";
import { timeZoneNamed } from "./time-zones.js";

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
  const weekday = partsOf(text).fields[4] ?? "*";
  return timeProblem(text) ?? (weekday === "*" ? undefined : "The weekday must be *.");
}

/** Returns the rule of weekly schedules that `text` violates; `undefined` for a valid schedule. */
export function weeklyScheduleProblem(text: string): string | undefined {
  const problem = timeProblem(text);
  if (problem !== undefined || daysOf(partsOf(text).fields[4]!)) return problem;
  return "The weekday must be *, or days and ranges such as 1-5 or MON,WED,FRI-SUN.";
}

const scheduleBy = (problemOf: TextRule) =>
  textBy((text) => (text.trim() === "" ? undefined : problemOf(text)), {
    pattern: String.raw`^\s*((CRON_TZ=\S+\s+)?\d{1,2}\s+\d{1,2}(\s+\S+){3}\s*)?$`,
  });

/** Daily and weekly schedules in inputs. A blank text is none. */
export const dailySchedule = scheduleBy(scheduleProblem);
export const weeklySchedule = scheduleBy(weeklyScheduleProblem);

/** Returns the rule of schedules that `text` violates apart from the weekday. */
function timeProblem(text: string): string | undefined {
  const { zone, fields } = partsOf(text);
  if (timeZoneNamed(zone) === undefined) return "The time zone must be an IANA name such as Europe/Berlin.";
  if (fields.length !== 5)
    return "Must be the five fields minute, hour, day of month, month and weekday, after CRON_TZ=<time zone> if not in UTC.";
  const [minute, hour, day, month] = fields as [string, string, string, string, string];
  if (!isNumberTo(59, minute)) return "The minute must be one number from 0 to 59.";
  if (!isNumberTo(23, hour)) return "The hour must be one number from 0 to 23.";
  if (day !== "*") return "The day of month must be *.";
  return month === "*" ? undefined : "The month must be *.";
}

const dayNames = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/** A day of the week in cron: a name, or a number from 0 to 7, of which 0 and 7 are Sunday. */
function dayNumber(text: string): number {
  return /^[0-7]$/.test(text) ? Number(text) : dayNames.indexOf(text.toUpperCase());
}

/** Returns the days, from 0 for Sunday to 6, that the weekday field of a cron expression names; `undefined` if none. */
function daysOf(field: string): number[] | undefined {
  if (field === "*") return [0, 1, 2, 3, 4, 5, 6];
  const days = new Set<number>();
  for (const part of field.split(",")) {
    const [from = "", to = from, ...rest] = part.split("-");
    const first = dayNumber(from);
    // Sunday ends a week as well: FRI-SUN.
    const last = dayNumber(to) || (first > 0 ? 7 : 0);
    if (rest.length > 0 || first < 0 || last < first) return undefined;
    for (let day = first; day <= last; day++) days.add(day % 7);
  }
  return [...days].toSorted((a, b) => a - b);
}

/** A local time of day, on some days of the week. */
export interface WeeklySchedule extends DailySchedule {
  /** From 0 for Sunday to 6; at least one. */
  days: readonly number[];
}

/** Parses a schedule for which `weeklyScheduleProblem` returns `undefined`. */
export const weeklyScheduleOf = (text: string): WeeklySchedule => ({
  ...scheduleOf(text),
  days: daysOf(partsOf(text).fields[4]!)!,
});

/** Formats a weekly schedule in its canonical form. */
export const weeklyScheduleText = ({ zone, hour, minute, days }: WeeklySchedule): string =>
  `CRON_TZ=${zone} ${minute} ${hour} * * ${days.length === 7 ? "*" : days.join(",")}`;

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
 * ends at midnight, as in Nuuk. `days` limits it to days of the week, of which there must be one: 0 is Sunday.
 */
export function nextStart({ zone, hour, minute }: DailySchedule, now: number, days?: readonly number[]): number {
  const today = Math.floor((now + offsetAt(zone, now)) / day) * day;
  for (let time = today + (hour * 60 + minute) * 60_000; ; time += day) {
    if (days && !days.includes(new Date(time).getUTCDay())) continue;
    const start = firstAt(zone, time);
    if (start > now) return start;
  }
}
