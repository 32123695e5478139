import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import { type PasswordQueue, passwordQueues } from "./password-queues.js";

/** Parameters of argon2id (RFC 9106): 19 MiB of memory (in KiB), two passes, one lane. */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Jobs of a queue that may wait for the running ones; further ones are rejected. */
const queueLimit = 64;

/** Hashes passwords slowly, in a bounded number of threads so that other requests stay fast. */
export interface Passwords {
  hash(password: string, queue?: PasswordQueue): Promise<string>;
  /** Reports whether the password matches the hash. Without a hash, takes the same time and resolves to false. */
  verify(hash: string | undefined, password: string, queue?: PasswordQueue): Promise<boolean>;
  /** Throws UNAVAILABLE if the queue is full. To be called before a request does other work. */
  requireRoom(queue: PasswordQueue): void;
  /** Reports whether the hash was computed with other cost parameters than the current ones. */
  needsRehash(hash: string): boolean;
}

/** Creates the pool, which computes up to `concurrency` hashes in parallel. */
export function createPasswords(concurrency: number): Passwords {
  const queues = passwordQueues(concurrency, { signedIn: queueLimit, stranger: queueLimit });
  const dummy = dummyHash();
  return {
    hash: (password, queue = "signedIn") => queues[queue](() => argon2.hash(password, cost)),
    verify: (hash, password, queue = "signedIn") =>
      queues[queue](async () => (await argon2.verify(hash ?? dummy, password)) && hash !== undefined),
    requireRoom: (queue) => queues[queue].requireRoom(),
    needsRehash: (hash) => argon2.needsRehash(hash, cost),
  };
}

/** Generates a well-formed hash of the current cost that no known password matches. */
function dummyHash(): string {
  const [salt, digest] = [16, 32].map((bytes) => randomBytes(bytes).toString("base64").replaceAll("=", ""));
  return `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${salt}$${digest}`;
}
