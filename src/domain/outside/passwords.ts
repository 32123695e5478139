import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import { type Lane, passwordLanes } from "./lanes.js";

/** argon2id: 19 MiB, two passes, one lane (RFC 9106). Memory in KiB. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Jobs of a lane that wait beyond those at work; more are refused. */
const queueLimit = 64;

/** Slow hashes of what people choose as passwords, made by few threads at once so that reads keep their speed. */
export interface Passwords {
  hash(password: string, lane?: Lane): Promise<string>;
  /** Whether the password is the one that was hashed. Without a hash the work is the same, and the result false. */
  verify(hash: string | undefined, password: string, lane?: Lane): Promise<boolean>;
  /** Throws UNAVAILABLE if there is too much to hash now: before a request spends anything else. */
  requireRoom(lane: Lane): void;
  /** Whether the hash was made at another cost than today's. */
  needsRehash(hash: string): boolean;
}

/** Starts the pool. `concurrency` is the number of hashes computed at once. */
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

/** A well-formed hash of today's cost that belongs to no password anybody could know. */
function dummyHash(): string {
  const [salt, digest] = [16, 32].map((bytes) => randomBytes(bytes).toString("base64").replaceAll("=", ""));
  return `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${salt}$${digest}`;
}
