import { randomBytes } from "node:crypto";
import argon2 from "argon2";
import type { HashCost } from "../../runtime/config.js";
import { type PasswordQueue, passwordQueues } from "./password-queues.js";

/** Bytes of salts and digests. */
const saltLength = 16;
const digestLength = 32;

/** Variant, version, and parameters of hashes in the PHC string format, in the order in which other programs read them. */
const schemeOf = ({ memory, passes }: HashCost): string => `$argon2id$v=19$m=${memory},t=${passes},p=1`;

/** Jobs of a queue that may wait for the running ones; further ones are rejected. */
const queueLimit = 64;

/** Hashes passwords slowly, in a bounded number of threads so that other requests stay fast. */
export interface Passwords {
  hash(password: string, queue?: PasswordQueue): Promise<string>;
  /** Reports whether the password matches the hash. Without a hash, takes the same time and resolves to false. */
  verify(hash: string | undefined, password: string, queue?: PasswordQueue): Promise<boolean>;
  /** Throws UNAVAILABLE if the queue is full. To be called before a request does other work. */
  requireRoom(queue: PasswordQueue): void;
  /**
   * Reports whether the hash is other than `hash` makes them: in its variant, version, or cost, in the order of these, or in
   * the length of its salt or digest.
   */
  needsRehash(hash: string): boolean;
}

/** Creates the pool, which computes up to `concurrency` hashes in parallel. */
export function createPasswords(concurrency: number, cost: HashCost): Passwords {
  const queues = passwordQueues(concurrency, { signedIn: queueLimit, stranger: queueLimit });
  const dummy = dummyHash(cost);
  const current = formOf(cost);
  return {
    hash: (password, queue = "signedIn") => queues[queue](() => phcHash(password, cost)),
    verify: (hash, password, queue = "signedIn") =>
      queues[queue](async () => (await argon2.verify(hash ?? dummy, password)) && hash !== undefined),
    requireRoom: (queue) => queues[queue].requireRoom(),
    needsRehash: (hash) => !current.test(hash),
  };
}

/** Computes a hash in the PHC string format. The library writes parameters in an order of its own. */
async function phcHash(password: string, cost: HashCost): Promise<string> {
  const salt = randomBytes(saltLength);
  const options = {
    memoryCost: cost.memory,
    timeCost: cost.passes,
    parallelism: 1,
    type: argon2.argon2id,
    version: 0x13,
    hashLength: digestLength,
    salt,
    raw: true,
  } as const;
  return phcText(cost, salt, await argon2.hash(password, options));
}

/** Generates a well-formed hash of the current cost that no known password matches. */
const dummyHash = (cost: HashCost): string => phcText(cost, randomBytes(saltLength), randomBytes(digestLength));

const phcText = (cost: HashCost, salt: Buffer, digest: Buffer): string =>
  `${schemeOf(cost)}$${base64(salt)}$${base64(digest)}`;

/** Base64 without padding. */
const base64 = (bytes: Buffer): string => bytes.toString("base64").replaceAll("=", "");

/** Characters that a number of bytes has in base64 without padding. */
const base64Length = (bytes: number): number => Math.ceil((bytes * 4) / 3);

const characters = (bytes: number) => `\\$[A-Za-z0-9+/]{${base64Length(bytes)}}`;

/** Matches the hashes of a cost. */
const formOf = (cost: HashCost): RegExp =>
  new RegExp(`^${schemeOf(cost).replaceAll("$", "\\$")}${characters(saltLength)}${characters(digestLength)}$`);
