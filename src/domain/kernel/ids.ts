import { v7 } from "uuid";
import { databaseTime } from "../../clock.js";
import { randomBytes } from "./random.js";

let latest = -Infinity;
let sequence = 0;

/** Returns a new UUIDv7. Ids of a process sort by creation, also within a millisecond (RFC 9562 §6.2, method 1). */
export function newId(): string {
  const random = randomBytes(16);
  const now = databaseTime();
  if (now > latest) {
    latest = now;
    // Without the highest bit, so that it can grow.
    sequence = ((random[6]! & 0x7f) << 24) | (random[7]! << 16) | (random[8]! << 8) | random[9]!;
  } else if ((sequence = (sequence + 1) | 0) === 0) latest++;
  return v7({ random, msecs: latest, seq: sequence });
}
