import { type BoundedPool, boundedPools } from "../kernel/bounded-pool.js";
import { unavailable } from "../kernel/errors.js";

/** Who causes work on a password: a caller who is signed in, or anyone who asks for a public operation. */
export type Lane = "signedIn" | "stranger";

const refusal = () => unavailable("Too many passwords are being checked.");

/** A pool for each lane. They share the places, and strangers come after those who are signed in. */
export function passwordLanes(atOnce: number, room: Record<Lane, number>): Record<Lane, BoundedPool> {
  const [signedIn, stranger] = boundedPools(atOnce, [room.signedIn, room.stranger], refusal);
  return { signedIn: signedIn!, stranger: stranger! };
}
