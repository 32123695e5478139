import { randomFillSync } from "node:crypto";
import { v7 } from "uuid";
import { databaseTime } from "../../runtime/clock.js";

/** Milliseconds by which the clock may go back without the ids: beyond that, their time matters more than their order. */
const keptOrder = 60_000;

/** Random bytes for many ids: asking for those of one takes longer than making it. */
const pool = new Uint8Array(4096);
let drawn = pool.length;

function drawBytes(): Uint8Array {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  return pool.subarray(drawn, (drawn += 16));
}

let latest = -Infinity;
let sequence = 0;

/**
 * Returns a new UUIDv7 by the clock of the database, so that the ids of all replicas sort by creation; those of a process
 * also within a millisecond (RFC 9562 §6.2, method 1), unless the clock goes back by more than a minute.
 */
export function newId(): string {
  const now = databaseTime();
  if (now > latest || now < latest - keptOrder) {
    latest = now;
    // Without the highest bit, so that it can grow.
    sequence = Math.floor(Math.random() * 2 ** 31);
  } else if ((sequence = (sequence + 1) | 0) === 0) latest++;
  return v7({ msecs: latest, seq: sequence, random: drawBytes() });
}
