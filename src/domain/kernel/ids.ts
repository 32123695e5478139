import { v7 } from "uuid";
import { databaseTime } from "../../clock.js";

let latest = -Infinity;
let sequence = 0;

/**
 * Returns a new UUIDv7 by the clock of the database, so that the ids of all replicas sort by creation; those of a process
 * also within a millisecond (RFC 9562 §6.2, method 1).
 */
export function newId(): string {
  const now = databaseTime();
  if (now > latest) {
    latest = now;
    // Without the highest bit, so that it can grow.
    sequence = Math.floor(Math.random() * 2 ** 31);
  } else if ((sequence = (sequence + 1) | 0) === 0) latest++;
  return v7({ msecs: latest, seq: sequence });
}
