import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";

/** Random bytes are drawn for many ids at once: asking the system for 16 costs as much as asking for 4096. */
const pool = Buffer.alloc(4096);
let used = pool.length;

function random(bytes: number): Buffer {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return pool.subarray(used, (used += bytes));
}

/** Ids of one millisecond count up from a random number, so that they sort, too (RFC 9562 §6.2). */
let msecs = 0;
let seq = 0;

/** The id of a new row or request: UUIDv7, so that ids sort by time of creation. */
export function newId(): string {
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    seq = random(4).readUInt32LE() >>> 1;
  } else seq++;
  return v7({ random: random(16), msecs, seq });
}
