// Local times follow the newest time zone data at hand, also of zones whose laws have changed since Node.js was built.
// Looks inside: the reader of compiled time zones, schedules of prebuilt workspaces, and those of scripts are pure functions.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";
import { readConfig } from "../../../src/config/config.js";
import { checkZones } from "../../../src/domain/deployment/zone-check.js";
import { scheduledInstances } from "../../../src/domain/templates/prebuild-schedules.js";
import { nextDue } from "../../../clients/agent/schedules.js";
import { offsetIn, parseZone } from "../../../src/runtime/time-zones/tzif.js";
import { offsetAt, useZoneFolder, zoneSources } from "../../../src/runtime/time-zones/zone-data.js";
import { boxOf, createBox, templateOf } from "../../support/builds.js";
import { withTimeLeft } from "../../support/clock.js";
import { command } from "../../support/process.js";
import { setColumns } from "../../support/tables.js";
import { startWorld, type World } from "../../support/world.js";
import { zoneFile, zoneFolder } from "../../support/zone-files.js";

const hour = 3_600_000;
const seconds = (time: string) => Date.parse(time) / 1000;

describe("compiled time zones", () => {
  const hoursAt = (file: Buffer, ...times: string[]) => {
    const zone = parseZone(file);
    return times.map((time) => offsetIn(zone, seconds(time)) / 3600);
  };

  it("have the offsets of their table, before it those of its first type, and after it those of their rule", () => {
    const table = {
      first: -19_000,
      changes: [
        ["1950-01-01T00:00:00Z", 3600],
        ["2026-03-01T00:00:00Z", 7200],
      ],
    } as const;
    const times = ["1901-01-01T00:00:00Z", "2026-02-28T23:59:59Z", "2026-03-01T00:00:00Z", "2300-07-01T00:00:00Z"];
    for (const version of [0, 2, 3, 4] as const)
      expect(hoursAt(zoneFile({ ...table, version }), ...times), String(version)).to.deep.equal([-19 / 3.6, 1, 2, 2]);
    const ruled = zoneFile({ ...table, footer: "CET-1CEST,M3.5.0,M10.5.0/3" });
    expect(
      hoursAt(ruled, ...times, "2027-03-28T00:59:59Z", "2027-03-28T01:00:00Z", "2027-10-31T00:59:59Z", "2027-10-31T01:00:00Z"), // prettier-ignore
    ).to.deep.equal([-19 / 3.6, 1, 1, 2, 1, 2, 2, 1]);
  });

  it("may have every rule of POSIX, in both hemispheres, by days of the year, and of all year", () => {
    const rule = (footer: string, ...times: string[]) => hoursAt(zoneFile({ first: 0, footer }), ...times);
    expect(rule("<+0545>-5:45", "2026-01-01T00:00:00Z")).to.deep.equal([5.75]);
    // Lord Howe moves its clocks by half an hour, in summer at the turn of the year.
    const lordHowe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
    expect(rule(lordHowe, "2026-01-01T00:00:00Z", "2026-04-04T14:59:59Z", "2026-04-04T15:00:00Z", "2026-10-03T15:29:59Z", "2026-10-03T15:30:00Z")) // prettier-ignore
      .to.deep.equal([11, 11, 10.5, 10.5, 11]);
    // RFC 9636, 3.3.1: daylight saving time all year.
    const always = ["2026-01-01T02:59:59Z", "2026-01-01T03:00:00Z", "2026-06-01T00:00:00Z", "2027-01-01T03:30:00Z"];
    expect(rule("XXX3EDT4,0/0,J365/23", ...always)).to.deep.equal([-4, -4, -4, -4]);
    // `J60` is March 1 also in leap years, and 59 counts February 29.
    const days = ["2028-02-29T12:00:00Z", "2028-03-01T12:00:00Z"];
    expect(rule("AAA0BBB,J60/0,J300/0", ...days)).to.deep.equal([0, 1]);
    expect(rule("AAA0BBB,59/0,J300/0", ...days)).to.deep.equal([1, 1]);
    // Nuuk: hours before and beyond a day.
    const nuuk = ["2026-03-28T00:59:59Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z", "2026-10-25T00:59:59Z", "2026-10-25T01:00:00Z"]; // prettier-ignore
    expect(rule("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", ...nuuk)).to.deep.equal([-2, -2, -1, -1, -2]);
    expect(rule("EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27T23:59:59Z", "2026-03-28T00:00:00Z")).to.deep.equal([2, 3]); // prettier-ignore
  });

  it("are rejected when they are none, so that another source has the zone", () => {
    const faulty = [
      Buffer.alloc(0),
      Buffer.from("not a zone, but long enough for the header of one"),
      zoneFile({ first: 3600 }).subarray(0, 100),
      zoneFile({ first: 3600, leapSeconds: 1 }),
      zoneFile({ first: 3600, footer: "CET-1CEST" }),
      zoneFile({ first: 3600, footer: "CET-1CEST,M13.1.0,M10.5.0" }),
      zoneFile({ first: 100 * 3600 }),
      zoneFile({ first: 0, changes: [["2026-01-02T00:00:00Z", 0], ["2026-01-01T00:00:00Z", 1]] }), // prettier-ignore
    ];
    for (const [index, file] of faulty.entries()) expect(() => parseZone(file), String(index)).to.throw(RangeError);
    const folder = zoneFolder("2099a", Object.fromEntries(faulty.map((file, index) => [`Europe/Bad${"abcdefgh"[index]}`, file]))); // prettier-ignore
    try {
      writeFileSync(join(folder, "UTC"), zoneFile({ first: 0 }));
      useZoneFolder(folder);
      expect(zoneSources()[0].version).to.equal("2099a");
      expect(zoneSources()[0].offsetAt("Europe/Bada", 0)).to.equal(undefined);
      expect(zoneSources()[0].offsetAt("../UTC", 0)).to.equal(undefined);
      expect(offsetAt("Europe/Berlin", Date.parse("2026-07-01T00:00:00Z"))).to.equal(2 * hour);
    } finally {
      useZoneFolder(undefined);
      rmSync(folder, { recursive: true });
    }
  });

  it("of the system say what Node.js says of zones whose laws stay", function () {
    // Lists of what systems have: none on some machines.
    const zones = [
      "Europe/Berlin",
      "America/New_York",
      "Asia/Kolkata",
      "Australia/Lord_Howe",
      "America/Nuuk",
      "Pacific/Apia",
    ];
    const found = zones.filter((zone) => existsSync(`/usr/share/zoneinfo/${zone}`));
    if (found.length === 0) this.skip();
    const node = zoneSources().find(({ name }) => name.startsWith("Node.js"))!;
    for (const zone of found) {
      const parsed = parseZone(readFileSync(`/usr/share/zoneinfo/${zone}`));
      for (let time = Date.UTC(1971, 0, 1); time < Date.UTC(2090, 0, 1); time += 10 * 24 * hour + 7 * 60_000)
        expect(offsetIn(parsed, time / 1000) * 1000, `${zone} ${new Date(time).toISOString()}`).to.equal(node.offsetAt(zone, time)); // prettier-ignore
    }
  });
});

describe("time zone data", () => {
  // Winnipeg ceases to change its clocks, and a zone is new.
  const winnipeg = zoneFile({ first: -6 * 3600, footer: "EST5" });
  const zones = { "America/Winnipeg": winnipeg, "Antarctica/Newest": zoneFile({ first: 0, footer: "<+03>-3" }) };
  const folders: string[] = [];
  const folderOf = (version: string | undefined) => {
    const folder = zoneFolder(version, zones);
    folders.push(folder);
    return folder;
  };
  let w: World;
  before(async () => (w = await startWorld({ STEWARD_ZONEINFO_DIR: folderOf("2099b") })));
  after(async () => {
    await w?.close();
    useZoneFolder(undefined);
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  it("of a folder decide schedules, if they are the newest", async () => {
    const [ada] = await w.users("ada");
    const as = w.as(ada!);
    const set = async (schedule: string) => {
      const { body } = await as.put("/api/v2/users/me/quiet-hours", { schedule });
      return Array.isArray(body) ? body[0] : body;
    };
    const { next, timezone } = await set("CRON_TZ=america/winnipeg 30 2 * * *");
    expect([timezone, next.slice(11)]).to.deep.equal(["America/Winnipeg", "07:30:00.000Z"]);
    expect((await set("CRON_TZ=Antarctica/Newest 30 2 * * *")).next.slice(11)).to.equal("23:30:00.000Z");
    expect((await set("CRON_TZ=Asia/Tokyo 30 2 * * *")).next.slice(11), "of another source").to.equal("17:30:00.000Z");
    expect((await set("CRON_TZ=Antarctica/Newer 30 2 * * *")).validations[0].detail).to.include("IANA");

    const template = await templateOf(w, boxOf());
    const { workspace } = await createBox(w, ada!, template.id, {
      autostartSchedule: "CRON_TZ=America/Winnipeg 0 9 * * *",
    });
    const { nextAutostartAt } = (
      await as.graphql(`query($id: UUID!) { workspace(id: $id) { nextAutostartAt } }`, { id: workspace.id })
    ).workspace;
    expect(nextAutostartAt.slice(11, 19)).to.equal("14:00:00");

    const schedules = [{ cron: "* 9 * * *", timezone: "America/Winnipeg", instances: 3 }];
    for (const month of ["01", "07"]) {
      const at = (time: string) => scheduledInstances(schedules, Date.parse(`2027-${month}-15T${time}:30Z`));
      expect([at("13:59"), at("14:00"), at("14:59"), at("15:00")]).to.deep.equal([null, 3, 3, null]);
    }
  });

  it("of a folder decide where days begin that are counted, not those of Postgres", async () => {
    await withTimeLeft(3_600_000, 30_000);
    const [ada] = await w.users("ada");
    const midnight = new Date();
    midnight.setUTCHours(5, 0, 0, 0);
    if (midnight.getTime() > Date.now()) midnight.setUTCDate(midnight.getUTCDate() - 1);
    const counts = async () => {
      const { dailyCounts } = await w
        .as(w.owner)
        .graphql(`{ dailyCounts(days: 2, timeZone: "America/Winnipeg") { days createdUsers } }`);
      return [dailyCounts.days[1], ...dailyCounts.createdUsers];
    };
    const [day, former, today] = (await counts()) as [string, number, number];
    expect(day).to.equal(midnight.toISOString().slice(0, 10));
    const move = (milliseconds: number) =>
      setColumns(w, "users", { id: ada!.id }, { created_at: new Date(midnight.getTime() + milliseconds) });
    await move(-1);
    expect(await counts()).to.deep.equal([day, former + 1, today - 1]);
    await move(0);
    expect(await counts()).to.deep.equal([day, former, today]);
  });

  it("say their version, and where they disagree about a zone in use", async () => {
    const { serverInfo } = await w.nobody.graphql("{ serverInfo { timeZoneDataVersion } }");
    expect(serverInfo.timeZoneDataVersion).to.equal("2099b");
    const metrics = await (await fetch(`${w.app.url}/metrics`)).text();
    expect(metrics).to.include('tzdata="2099b"');
    const { stdout } = await command({ STEWARD_ZONEINFO_DIR: folders[0] }, "--version");
    expect(stdout).to.include(`Time zone data 2099b of ${folders[0]}`);

    const warned: Array<{ zone: string; other: { source: string } }> = [];
    const log = { warn: (entry: (typeof warned)[number]) => warned.push(entry) };
    const [bob] = await w.users("bob");
    await w.as(bob!).put("/api/v2/users/me/quiet-hours", { schedule: "CRON_TZ=America/Winnipeg 0 1 * * *" });
    await checkZones({ ...w.app.services, log } as never);
    expect(new Set(warned.map(({ zone }) => zone))).to.deep.equal(new Set(["America/Winnipeg"]));
    expect(warned.some(({ other }) => other.source.startsWith("Node.js"))).to.equal(true);
    warned.length = 0;
    await checkZones({ ...w.app.services, log } as never);
    expect(warned, "once").to.deep.equal([]);
  });

  it("that are older than others do not apply, those of a folder without a version do, and a folder must exist", () => {
    try {
      useZoneFolder(folderOf("2001a"));
      expect(zoneSources()[0].version).to.match(/^20[2-9]\d[a-z]+$/);
      expect(offsetAt("America/Winnipeg", Date.parse("2025-01-01T00:00:00Z"))).to.equal(-6 * hour);
      const named = folderOf(undefined);
      useZoneFolder(named);
      expect(zoneSources()[0]).to.include({ name: named, version: null });
      expect(offsetAt("America/Winnipeg", Date.parse("2025-01-01T00:00:00Z"))).to.equal(-5 * hour);
      const text = folderOf(undefined);
      writeFileSync(join(text, "tzdata.zi"), "# version 2099c\n# redo posix_only\n");
      useZoneFolder(text);
      expect(zoneSources()[0].version, "as systems have it").to.equal("2099c");
      expect(() => readConfig({ STEWARD_ZONEINFO_DIR: join(text, "missing") })).to.throw(
        /STEWARD_ZONEINFO_DIR must be/,
      );
    } finally {
      useZoneFolder(folders[0]);
    }
  });

  it("apply before settings that name zones", async () => {
    const config = readConfig({
      STEWARD_ZONEINFO_DIR: folders[0],
      STEWARD_QUIET_HOURS_DEFAULT: "CRON_TZ=Antarctica/Newest 0 3 * * *",
    });
    expect(config.quietHoursDefault.zone).to.equal("Antarctica/Newest");
  });
});

describe("scripts by schedule", () => {
  // Clocks change from +1 to +2 at 01:00Z, and back.
  const zone = parseZone(zoneFile({ first: 3600, footer: "CET-1CEST,M3.5.0,M10.5.0/3" }));
  const offset = (instant: number) => offsetIn(zone, Math.floor(instant / 1000)) * 1000;
  const runs = (cron: string, from: string, count: number) => {
    const found: string[] = [];
    let time = Date.parse(from);
    while (found.length < count) found.push(new Date((time = nextDue(cron, offset, time)!)).toISOString().slice(5, 16));
    return found;
  };

  it("are due at local times, at the end of a gap, and once in a repeated hour unless they are due every hour", () => {
    expect(runs("30 2 * * *", "2026-03-27T12:00:00Z", 3)).to.deep.equal(["03-28T01:30", "03-29T01:00", "03-30T00:30"]);
    expect(runs("30 2 * * *", "2026-10-24T12:00:00Z", 2)).to.deep.equal(["10-25T00:30", "10-26T01:30"]);
    expect(runs("*/30 * * * *", "2026-10-24T23:40:00Z", 5)).to.deep.equal([
      "10-25T00:00",
      "10-25T00:30",
      "10-25T01:00",
      "10-25T01:30",
      "10-25T02:00",
    ]);
    expect(runs("*/30 * * * *", "2026-03-29T00:20:00Z", 3)).to.deep.equal([
      "03-29T00:30",
      "03-29T01:00",
      "03-29T01:30",
    ]);
    expect(runs("0 9 * * MON", "2026-03-26T12:00:00Z", 2)).to.deep.equal(["03-30T07:00", "04-06T07:00"]);
    expect(nextDue("0 0 30 2 *", offset, Date.parse("2026-01-01T00:00:00Z"))).to.equal(undefined);
  });
});
