// When quiet hours start, in every time zone and around every clock change.
// Looks inside: the daily schedule is a pure function, tried for years in every time zone.
import { expect } from "chai";
import { Cron } from "croner";
import { nextStart, scheduleOf, timeOfDay } from "../../../src/domain/quiet-hours/daily-schedule.js";
import { timeZoneNamed } from "../../../src/domain/quiet-hours/time-zones.js";
import { world } from "../../support/world.js";

const minute = 60_000;
const hour = 3_600_000;
const day = 86_400_000;
const zones = Intl.supportedValuesOf("timeZone");

/** The time that clocks in a zone show, as if in UTC: taken from formatted local time, unlike the code under test. */
function clockOf(zone: string): (instant: number) => number {
  const face = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (instant) => {
    const parts = Object.fromEntries(face.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    return Date.UTC(parts.year!, parts.month! - 1, parts.day, parts.hour, parts.minute, parts.second);
  };
}

interface Change {
  /** The first instant of the new time. */
  at: number;
  /** The time that the clocks would have shown at that instant, and the time that they show. */
  from: number;
  to: number;
}

/** The clock changes of a zone. Two within a week of each other would be missed; no zone has such. */
function changesOf(zone: string, since: number, until: number): Change[] {
  const shown = clockOf(zone);
  const offset = (instant: number) => shown(instant) - instant;
  const changes: Change[] = [];
  for (let week = since; week < until; week += 7 * day) {
    let before = week;
    let at = week + 7 * day;
    if (offset(before) === offset(at)) continue;
    while (at - before > 1000) {
      const middle = Math.floor((before + at) / 2000) * 1000;
      if (offset(middle) === offset(week)) before = middle;
      else at = middle;
    }
    changes.push({ at, from: shown(before) + 1000, to: shown(at) });
  }
  return changes;
}

const scheduleAt = (zone: string, time: number) => ({
  zone,
  hour: new Date(time).getUTCHours(),
  minute: new Date(time).getUTCMinutes(),
});

const next = (text: string, now: string) => new Date(nextStart(scheduleOf(text), Date.parse(now))).toISOString();

describe("the next start of quiet hours", () => {
  it("agrees with an independent library around every clock change in every zone", () => {
    let compared = 0;
    for (const zone of zones) {
      for (const { at, from, to } of changesOf(zone, Date.UTC(2025), Date.UTC(2028))) {
        const first = Math.min(from, to);
        const last = Math.max(from, to);
        for (const time of [first - minute, first, (first + last) / 2, last - minute, last, last + minute]) {
          const schedule = scheduleAt(zone, time);
          const library = new Cron(`${schedule.minute} ${schedule.hour} * * *`, { timezone: zone, paused: true });
          for (const now of [at - 20 * hour, at - minute, at - 1, at, at + minute]) {
            const told = `${zone} ${timeOfDay(schedule)} after ${new Date(now).toISOString()}`;
            const found = nextStart(schedule, now);
            const isSkipped = from <= time && time < to;
            if (isSkipped && now < at) expect(found, told).to.equal(at);
            // The library misses times before midnight that are skipped when clocks move forward to midnight.
            if (isSkipped && now < at && to % day === 0) continue;
            expect(found, told).to.equal(library.nextRun(new Date(now))!.getTime());
            compared++;
          }
        }
      }
    }
    expect(compared).to.be.above(10_000);
  });

  it("agrees with an independent library at other times, including leap days and year ends", () => {
    const moments = [
      "2028-02-28T22:17:03.5Z",
      "2028-02-29T11:00:00Z",
      "2027-12-31T23:59:59.999Z",
      "2100-02-28T12:00:00Z",
    ];
    for (const zone of zones) {
      for (const now of moments.map(Date.parse)) {
        for (const time of [now, now + minute, now + 7 * hour + 13 * minute, now - 5 * hour]) {
          const schedule = scheduleAt(zone, time);
          const library = new Cron(`${schedule.minute} ${schedule.hour} * * *`, { timezone: zone, paused: true });
          const told = `${zone} ${timeOfDay(schedule)} after ${new Date(now).toISOString()}`;
          expect(nextStart(schedule, now), told).to.equal(library.nextRun(new Date(now))!.getTime());
        }
      }
    }
  });

  for (const [story, schedule, steps] of [
    [
      "a skipped time moves to the end of the gap",
      "CRON_TZ=Europe/Berlin 30 2 * * *",
      ["2026-03-28T12:00", "2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "a repeated time counts when it first occurs",
      "CRON_TZ=Europe/Berlin 30 2 * * *",
      ["2026-10-24T12:00", "2026-10-25T00:30", "2026-10-26T01:30"],
    ],
    [
      "a gap that starts at midnight",
      "CRON_TZ=America/Havana 0 0 * * *",
      ["2026-03-07T12:00", "2026-03-08T05:00", "2026-03-09T04:00"],
    ],
    [
      "midnight twice",
      "CRON_TZ=America/Havana 0 0 * * *",
      ["2026-10-31T12:00", "2026-11-01T04:00", "2026-11-02T05:00"],
    ],
    [
      "a time within a gap that starts at midnight",
      "CRON_TZ=Asia/Beirut 30 0 * * *",
      ["2026-03-28T12:00", "2026-03-28T22:00", "2026-03-29T21:30"],
    ],
    [
      "a repeated hour before midnight",
      "CRON_TZ=Asia/Beirut 30 23 * * *",
      ["2026-10-24T12:00", "2026-10-24T20:30", "2026-10-25T21:30"],
    ],
    [
      "a gap on a Friday",
      "CRON_TZ=Africa/Cairo 15 0 * * *",
      ["2026-04-23T12:00", "2026-04-23T22:00", "2026-04-24T21:15"],
    ],
    [
      "a gap that ends at midnight",
      "CRON_TZ=America/Nuuk 30 23 * * *",
      ["2026-03-28T12:00", "2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "daylight saving time of half an hour",
      "CRON_TZ=Australia/Lord_Howe 15 2 * * *",
      ["2026-10-03T05:00", "2026-10-03T15:30", "2026-10-04T15:15"],
    ],
    [
      "clocks set back from 0:01 to the previous day",
      "CRON_TZ=America/St_Johns 0 0 * * *",
      ["2010-11-06T12:00", "2010-11-07T02:30", "2010-11-08T03:30"],
    ],
    [
      "a zone with an offset of three quarters of an hour",
      "CRON_TZ=Asia/Kathmandu 0 0 * * *",
      ["2026-01-01T00:00", "2026-01-01T18:15", "2026-01-02T18:15"],
    ],
    [
      "daylight saving time of two hours",
      "CRON_TZ=Antarctica/Troll 30 2 * * *",
      ["2026-03-28T12:00", "2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "a day skipped by moving across the date line",
      "CRON_TZ=Pacific/Apia 30 12 * * *",
      ["2011-12-29T12:00", "2011-12-29T22:30", "2011-12-30T10:00", "2011-12-30T22:30"],
    ],
    ["a leap day", "0 12 * * *", ["2028-02-28T12:00", "2028-02-29T12:00", "2028-03-01T12:00"]],
  ] as const) {
    it(`handles ${story}: ${schedule}`, () => {
      for (let step = 1; step < steps.length; step++)
        expect(next(schedule, `${steps[step - 1]}Z`)).to.equal(`${steps[step]}:00.000Z`);
    });
  }

  it("is strictly after now, to the millisecond", () => {
    expect(next("0 12 * * *", "2026-05-01T11:59:59.999Z")).to.equal("2026-05-01T12:00:00.000Z");
    expect(next("0 12 * * *", "2026-05-01T12:00:00.000Z")).to.equal("2026-05-02T12:00:00.000Z");
  });

  it("does not depend on the time zone of the server", () => {
    const { TZ } = process.env;
    try {
      for (const zone of ["Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu", "UTC"]) {
        process.env.TZ = zone;
        expect(next("CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z")).to.equal("2026-03-29T01:00:00.000Z");
      }
    } finally {
      if (TZ === undefined) delete process.env.TZ;
      else process.env.TZ = TZ;
    }
  });
});

describe("time zone names", () => {
  const the = world();

  it("are accepted in any letter case, and returned in their IANA spelling", async () => {
    const { rows } = await the().app.services.database.pool.query<{ name: string }>(
      "select name from pg_timezone_names where name !~ '^posix' and name not in ('Factory', 'localtime')",
    );
    const names = rows.map(({ name }) => name);
    expect(names.length).to.be.above(400);
    for (const name of [...names, ...zones])
      for (const given of [name, name.toLowerCase(), name.toUpperCase()])
        expect(timeZoneNamed(given), given).to.equal(name);
  });

  it("are rejected if IANA does not list them", () => {
    for (const text of [
      "",
      "Local",
      "local",
      "+01:00",
      "-0300",
      "PST",
      "IST",
      "Factory",
      "posixrules",
      "Europe",
      "Europe/",
      "/Berlin",
      "Europe/Berlin ",
      "Etc/Unknown",
      "SystemV/PST8",
      "Mars/Olympus",
      "Europe/Berlin\0",
      "constructor",
      "__proto__",
    ])
      expect(timeZoneNamed(text), text).to.equal(undefined);
  });
});
