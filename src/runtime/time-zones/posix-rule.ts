// The rule that a compiled time zone has for the time after its table: a TZ string of POSIX, with the extension of
// RFC 9636, 3.3.1 that times may be from -167 to 167 hours.

/** Returns the offset from UTC at an instant, both in seconds. */
export type Rule = (instant: number) => number;

const name = "(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)";
const duration = "[+-]?\\d{1,3}(?::\\d{1,2}){0,2}";
const day = "(?:J?\\d{1,3}|M\\d{1,2}\\.\\d\\.\\d)";
const pattern = new RegExp(
  `^${name}(${duration})(?:${name}(${duration})?,(${day})(?:/(${duration}))?,(${day})(?:/(${duration}))?)?$`,
);

/** Parses a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`. Throws `RangeError` for any other text. */
export function parseRule(text: string): Rule {
  const [whole, standardText, summerText, startDay, startTime, endDay, endTime] = pattern.exec(text) ?? [];
  if (whole === undefined) throw new RangeError("The rule of its future is none.");
  // POSIX counts offsets west of Greenwich.
  const standard = 0 - secondsOf(standardText!);
  if (startDay === undefined) return () => standard;
  const summer = summerText === undefined ? standard + 3600 : 0 - secondsOf(summerText);
  const starts = momentOf(startDay, startTime);
  const ends = momentOf(endDay!, endTime);
  return (instant) => {
    const year = new Date((instant + standard) * 1000).getUTCFullYear();
    let found = { at: -Infinity, offset: standard };
    for (const each of [year - 1, year, year + 1])
      for (const change of [
        { at: ends(each) - summer, offset: standard },
        // After the end, since a summer time that lasts all year begins when it ends.
        { at: starts(each) - standard, offset: summer },
      ])
        if (change.at <= instant && change.at >= found.at) found = change;
    return found.offset;
  };
}

function secondsOf(text: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = text.replace(/^[+-]/, "").split(":").map(Number);
  return (text.startsWith("-") ? -1 : 1) * (hours * 3600 + minutes * 60 + seconds);
}

const daySeconds = 86_400;
const isLeap = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const firstOf = (year: number, month = 0) => Date.UTC(year, month, 1) / 1000;

/** Returns the local time of a change in a year, in seconds as if it were UTC. Without a time it is at 02:00. */
function momentOf(text: string, timeText = "2"): (year: number) => number {
  const time = secondsOf(timeText);
  if (text.startsWith("M")) {
    const [month, week, weekday] = text.slice(1).split(".").map(Number) as [number, number, number];
    if (month < 1 || month > 12 || week < 1 || week > 5 || weekday > 6)
      throw new RangeError("The rule has no such day.");
    return (year) => {
      const first = firstOf(year, month - 1);
      const next = firstOf(year, month);
      const ahead = (weekday - new Date(first * 1000).getUTCDay() + 7) % 7;
      let found = first + (ahead + 7 * (week - 1)) * daySeconds;
      // The fifth one is the last one.
      if (found >= next) found -= 7 * daySeconds;
      return found + time;
    };
  }
  // `J60` is March 1 in every year; without J, days count from 0, February 29 included.
  const number = Number(text.replace("J", ""));
  if (!text.startsWith("J")) return (year) => firstOf(year) + number * daySeconds + time;
  if (number < 1 || number > 365) throw new RangeError("The rule has no such day.");
  return (year) => firstOf(year) + (number - 1 + (isLeap(year) && number >= 60 ? 1 : 0)) * daySeconds + time;
}
