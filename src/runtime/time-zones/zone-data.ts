// Where the time zones of this process come from. Laws change several times a year, and the data that say so come with the
// system, with Node.js, and in a folder that the operator keeps: the newest of them applies.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { offsetIn, parseZone, type Zone } from "./tzif.js";

/** A source of time zone data. */
export interface ZoneSource {
  /** For people, such as `/usr/share/zoneinfo` or `Node.js 24.21.0`. */
  readonly name: string;
  /** Such as `2026b`; null if the source does not say. */
  readonly version: string | null;
  /** Returns the offset of a zone from UTC at an instant, in milliseconds; `undefined` if the source lacks the zone. */
  offsetAt(zone: string, instant: number): number | undefined;
}

/** The folder in which systems have them. */
const systemFolder = "/usr/share/zoneinfo";

/** Returns the version of a folder: what the reference installation writes, or the first line of the text of all zones. */
function versionOf(folder: string): string | null {
  for (const file of ["+VERSION", "tzdata.zi"]) {
    try {
      const [, version] = /(?:^|^# version )(\d{4}[a-z]{1,2})\b/.exec(readFileSync(join(folder, file), "utf8")) ?? [];
      if (version !== undefined) return version;
    } catch {
      // Folders have at most one of them.
    }
  }
  return null;
}

const longestFile = 1024 ** 2;

/** The compiled files of a folder. Each is read when it is first used. */
function folderSource(folder: string): ZoneSource {
  const zones = new Map<string, Zone>();
  const read = (name: string): Zone | undefined => {
    if (!/^[A-Za-z][\w+-]*(?:\/[A-Za-z][\w+-]*){0,2}$/.test(name)) return undefined;
    try {
      const file = readFileSync(join(folder, name));
      return file.length > longestFile ? undefined : parseZone(file);
    } catch {
      // It is missing, or unreadable: another source has it.
      return undefined;
    }
  };
  return {
    name: folder,
    version: versionOf(folder),
    offsetAt(name, instant) {
      let zone = zones.get(name);
      if (!zone) {
        zone = read(name);
        if (!zone) return undefined;
        zones.set(name, zone);
      }
      return offsetIn(zone, Math.floor(instant / 1000)) * 1000;
    },
  };
}

/** Cached because constructing a format takes about a hundred times as long as using it. The oldest one is left out. */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 100;

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  let format = formats.get(zone);
  if (format) return format;
  try {
    format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
  if (formats.size >= mostFormats) formats.delete(formats.keys().next().value!);
  formats.set(zone, format);
  return format;
}

const nodeSource: ZoneSource = {
  name: `Node.js ${process.versions.node}`,
  version: process.versions.tz ?? null,
  offsetAt(zone, instant) {
    const text = formatOf(zone)?.format(instant);
    if (text === undefined) return undefined;
    // `6/30/2026, GMT+05:45`, or `GMT` alone for UTC; seconds occur in the nineteenth century only.
    const [, sign, hours = 0, minutes = 0] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(text) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
  },
};

/** Orders versions: `2026a` before `2026b`, and `2026z` before `2026za`. */
function isNewer(version: string, than: string): boolean {
  const year = version.slice(0, 4);
  const other = than.slice(0, 4);
  if (year !== other) return year > other;
  return version.length === than.length ? version > than : version.length > than.length;
}

interface Chosen {
  folder: string | undefined;
  /** The one that applies first. */
  sources: readonly [ZoneSource, ...ZoneSource[]];
}

/**
 * Chooses the source whose version is newest; of several, the folder of the operator, then that of the system. A folder of
 * the operator that does not say its version applies; one of the system does not.
 */
function choose(folder: string | undefined): Chosen {
  const own = folder === undefined ? [] : [folderSource(folder)];
  const system = folder === systemFolder ? [] : [folderSource(systemFolder)].filter(({ version }) => version !== null);
  const all: ZoneSource[] = [...own, ...system, nodeSource];
  let best = all[0]!;
  for (const each of all)
    if (best.version !== null && each.version !== null && isNewer(each.version, best.version)) best = each;
  return { folder, sources: [best, ...all.filter((each) => each !== best)] };
}

let chosen: Chosen | undefined;
const current = (): Chosen => (chosen ??= choose(process.env.STEWARD_ZONEINFO_DIR || undefined));

/** Has this process read the time zones of a folder as well. Without one, those of the system and of Node.js remain. */
export function useZoneFolder(folder: string | undefined): void {
  if (!chosen || chosen.folder !== folder) chosen = choose(folder);
}

/** The source whose data apply, and the others. */
export const zoneSources = (): Chosen["sources"] => current().sources;

/** The version of the data that apply and where they come from, for people: `2026b of /usr/share/zoneinfo`. */
export function describeZoneData(): string {
  const [{ version, name }] = zoneSources();
  return `${version ?? "of unknown version"} of ${name}`;
}

/**
 * Returns the offset of a zone from UTC at an instant, in milliseconds; positive east of Greenwich. A zone that the newest
 * source lacks, such as an old name, is that of another one. Throws `RangeError` if none has it.
 */
export function offsetAt(zone: string, instant: number): number {
  for (const source of zoneSources()) {
    const offset = source.offsetAt(zone, instant);
    if (offset !== undefined) return offset;
  }
  throw new RangeError("There is no such time zone.");
}

/** Whether a source has a zone. */
export const hasZone = (zone: string): boolean =>
  zoneSources().some((source) => source.offsetAt(zone, 0) !== undefined);

const day = 86_400_000;

/**
 * Returns the first instant at which the local time is `time`, or the end of the gap if clocks skip it. Local times are
 * written as if they were UTC. Clocks are assumed to change at most once within a day before and after.
 */
export function firstBy(offset: (instant: number) => number, time: number): number {
  const localTimeAt = (instant: number) => instant + offset(instant);
  const unchanged = time - offset(time - day);
  if (localTimeAt(unchanged) === time) return unchanged;
  const changed = time - offset(time + day);
  if (localTimeAt(changed) === time) return changed;
  return firstInstant(changed, unchanged, (instant) => localTimeAt(instant) >= time);
}

/** Returns the first instant after `before`, and at most `after`, for which a condition holds from then on. */
export function firstInstant(before: number, after: number, isTrue: (instant: number) => boolean): number {
  let low = before;
  let high = after;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isTrue(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** `firstBy` of a zone. */
export const firstAt = (zone: string, time: number): number => firstBy((instant) => offsetAt(zone, instant), time);

/** Returns the local date at an instant, such as `2026-01-31`. */
export const dateAt = (zone: string, instant: number): string =>
  new Date(instant + offsetAt(zone, instant)).toISOString().slice(0, 10);
