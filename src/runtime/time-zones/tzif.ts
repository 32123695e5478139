// Compiled time zone files (TZif, RFC 9636), as systems have them in /usr/share/zoneinfo.
import { parseRule, type Rule } from "./posix-rule.js";

/** A time zone: the offsets of its clocks from UTC. */
export interface Zone {
  /** The first instants of offsets, in Unix seconds, ascending. */
  readonly transitions: readonly number[];
  /** The offset from each of them on, in seconds; positive east of Greenwich. */
  readonly offsets: readonly number[];
  /** The offset before the first. */
  readonly first: number;
  /** The offsets after the last; `undefined` if the last one stays. */
  readonly rule: Rule | undefined;
}

/** Numbers of the header, in its order (RFC 9636, 3.1). */
interface Counts {
  isUt: number;
  isStandard: number;
  leaps: number;
  times: number;
  types: number;
  characters: number;
}

const headerLength = 44;

/** Seconds: RFC 9636, 3.2 limits offsets so that they are less than 26 hours from UTC. */
const farthest = 26 * 3600;

/**
 * Parses a file of version 1 to 4. Throws `RangeError` for what is none: also for one with leap seconds, whose times are not
 * those of clocks.
 */
export function parseZone(file: Uint8Array): Zone {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const { version, counts } = headerAt(view, 0);
  if (version === 0) return dataOf(view, headerLength, counts, 4, undefined);
  // Later versions repeat their data with times of 64 bits, which a rule follows.
  const second = headerLength + lengthOf(counts, 4);
  const { counts: wide } = headerAt(view, second);
  const footer = second + headerLength + lengthOf(wide, 8);
  const [, text, end] = /^\n([^\n]*)(\n)/.exec(Buffer.from(file.subarray(footer)).toString("latin1")) ?? [];
  if (end === undefined) throw new RangeError("The footer is missing.");
  return dataOf(view, second + headerLength, wide, 8, text === "" ? undefined : parseRule(text!));
}

function headerAt(view: DataView, at: number): { version: number; counts: Counts } {
  // `TZif`, the version as a digit or 0, 15 unused bytes, and six counts.
  if (view.getUint32(at) !== 0x54_5a_69_66) throw new RangeError("Is not a compiled time zone.");
  const [isUt, isStandard, leaps, times, types, characters] = Array.from({ length: 6 }, (_, index) =>
    view.getUint32(at + 20 + 4 * index),
  ) as [number, number, number, number, number, number];
  return { version: view.getUint8(at + 4), counts: { isUt, isStandard, leaps, times, types, characters } };
}

/** The length of a data block whose times have some bytes (RFC 9636, 3.2). */
const lengthOf = ({ isUt, isStandard, leaps, times, types, characters }: Counts, size: 4 | 8): number =>
  times * size + times + types * 6 + characters + leaps * (size + 4) + isStandard + isUt;

function dataOf(view: DataView, at: number, counts: Counts, size: 4 | 8, rule: Rule | undefined): Zone {
  const { leaps, times, types } = counts;
  if (leaps > 0) throw new RangeError("Has leap seconds.");
  if (types === 0 || at + lengthOf(counts, size) > view.byteLength) throw new RangeError("Is truncated.");
  const timeAt = (index: number) =>
    size === 4 ? view.getInt32(at + 4 * index) : Number(view.getBigInt64(at + 8 * index));
  const typesAt = at + times * (size + 1);
  const offsetOf = (type: number) => {
    const offset = type < types ? view.getInt32(typesAt + 6 * type) : NaN;
    if (!(Math.abs(offset) < farthest)) throw new RangeError("Has an offset that is none.");
    return offset;
  };
  const transitions = Array.from({ length: times }, (_, index) => timeAt(index));
  if (transitions.some((time, index) => index > 0 && time <= transitions[index - 1]!))
    throw new RangeError("Its times do not ascend.");
  const offsets = transitions.map((_, index) => offsetOf(view.getUint8(at + times * size + index)));
  return { transitions, offsets, first: offsetOf(0), rule };
}

/** Returns the offset of a zone at an instant in Unix seconds, in seconds. */
export function offsetIn({ transitions, offsets, first, rule }: Zone, instant: number): number {
  const last = transitions.length - 1;
  if (rule && (last < 0 || instant >= transitions[last]!)) return rule(instant);
  let low = 0;
  let high = transitions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (transitions[middle]! <= instant) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? first : offsets[low - 1]!;
}
