// Compiled time zone files (TZif, RFC 9636), as tests make them up.
import { mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface ZoneFile {
  /** The offset before the first change, in seconds. */
  first: number;
  /** Changes as times in RFC 3339 with the offset from then on, in seconds. */
  changes?: ReadonlyArray<readonly [at: string, offset: number]>;
  /** The rule for the time after them; empty for none. */
  footer?: string;
  /** 0 has times of 32 bits and no rule. */
  version?: 0 | 2 | 3 | 4;
  leapSeconds?: number;
}

/** The bytes of a zone. */
export function zoneFile({ first, changes = [], footer = "", version = 2, leapSeconds = 0 }: ZoneFile): Buffer {
  const offsets = [first, ...changes.map(([, offset]) => offset)];
  const block = (size: 4 | 8) => {
    const header = Buffer.alloc(44);
    header.write("TZif");
    if (version > 0) header.write(String(version), 4);
    for (const [index, count] of [0, 0, leapSeconds, changes.length, offsets.length, 4].entries())
      header.writeUInt32BE(count, 20 + 4 * index);
    const times = changes.map(([at]) => {
      const time = Buffer.alloc(size);
      const seconds = Date.parse(at) / 1000;
      if (size === 4) time.writeInt32BE(seconds);
      else time.writeBigInt64BE(BigInt(seconds));
      return time;
    });
    const types = offsets.map((offset) => {
      const type = Buffer.alloc(6);
      type.writeInt32BE(offset);
      return type;
    });
    const indexes = Buffer.from(changes.map((_, index) => index + 1));
    return Buffer.concat([
      header,
      ...times,
      indexes,
      ...types,
      Buffer.from("LMT\0"),
      Buffer.alloc(leapSeconds * (size + 4)),
    ]);
  };
  return version === 0 ? block(4) : Buffer.concat([block(4), block(8), Buffer.from(`\n${footer}\n`)]);
}

/** A new folder with zones, whose version it says as the reference installation does. */
export function zoneFolder(version: string | undefined, zones: Record<string, Buffer>): string {
  const folder = mkdtempSync(join(tmpdir(), "steward-zones-"));
  if (version !== undefined) writeFileSync(join(folder, "+VERSION"), `${version}\n`);
  for (const [name, file] of Object.entries(zones)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), file);
  }
  return folder;
}
