import { randomBytes as fromSystem, randomFillSync } from "node:crypto";

/** Random bytes that were not given yet. */
const pool = Buffer.allocUnsafeSlow(4096);
let used = pool.length;

/**
 * Returns cryptographically random bytes, which are given once and not kept. Asks the system for many at a time: a call
 * for 16 bytes takes as long as one for 4,096.
 */
export function randomBytes(length: number): Uint8Array {
  if (length > pool.length) return fromSystem(length);
  if (used + length > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = Uint8Array.prototype.slice.call(pool, used, used + length);
  pool.fill(0, used, (used += length));
  return bytes;
}
