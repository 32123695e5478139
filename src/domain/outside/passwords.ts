import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import { type Lane, passwordLanes } from "./lanes.js";

/** Parameters of argon2id (RFC 9106): 19 MiB of memory (in KiB), two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Jobs of a lane that may wait for the running ones; further ones are rejected. */
const queueLimit = 64;

/** Hashes passwords slowly, in a bounded number of threads so that other requests stay fast. */
export interface Passwords {
  hash(password: string, lane?: Lane): Promise<string>;
  /** Reports whether the password matches the hash. Without a hash, takes the same time and resolves to false. */
  verify(hash: string | undefined, password: string, lane?: Lane): Promise<boolean>;
  /** Throws UNAVAILABLE if the queue of the lane is full. To be called before a request does other work. */
  requireRoom(lane: Lane): void;
  /** Reports whether the hash was computed with other cost parameters than the current ones. */
  needsRehash(hash: string): boolean;
}

/** Creates the pool, which computes up to `concurrency` hashes in parallel. */
export function createPasswords(concurrency: number): Passwords {
  const lanes = passwordLanes(concurrency, { signedIn: queueLimit, stranger: queueLimit });
  const dummy = dummyHash();
  return {
    hash: (password, lane = "signedIn") => lanes[lane](() => argon2.hash(password, cost)),
    verify: (hash, password, lane = "signedIn") =>
      lanes[lane](async () => (await argon2.verify(hash ?? dummy, password)) && hash !== undefined),
    requireRoom: (lane) => lanes[lane].requireRoom(),
    needsRehash: (hash) => argon2.needsRehash(hash, cost),
  };
}

/** Generates a well-formed hash of the current cost that no known password matches. */
function dummyHash(): string {
  const [salt, digest] = [16, 32].map((bytes) => randomBytes(bytes).toString("base64").replaceAll("=", ""));
  return `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${salt}$${digest}`;
}
