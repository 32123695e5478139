import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { programFile } from "../../runtime/program-files.js";
import { unavailable } from "../../runtime/errors.js";
import { type PasswordQueue, passwordQueues } from "./password-queues.js";

/** A password to estimate, and texts that an attacker is assumed to know. */
export interface GuessedPassword {
  password: string;
  known: string[];
}

/** The estimated strength of a password. */
export interface Strength {
  /** From 0 (guessed immediately) to 4 (very hard to guess), as zxcvbn defines it. */
  score: number;
  /** Weaknesses and suggestions, as sentences. */
  advice: string[];
}

/** Estimates that may wait for the running one; further ones are rejected. A long password takes 0.1 s. */
const room = { signedIn: 250, stranger: 250 };

/** Milliseconds for one estimate of a request, including the loading of dictionaries at the first. */
const timeout = 10_000;

const program = programFile(`infrastructure/passwords/estimator-worker${extname(import.meta.url)}`);
const queues = passwordQueues(1, room);
let worker: Worker | undefined;

/**
 * Estimates strength in a worker thread, one password at a time, so that other requests are not delayed. Throws UNAVAILABLE
 * if that takes too long, unless `isPatient`.
 */
export const strengthOf = (guessed: GuessedPassword, queue: PasswordQueue, isPatient = false): Promise<Strength> =>
  queues[queue](() => ask(guessed, isPatient ? undefined : AbortSignal.timeout(timeout)));

async function ask(guessed: GuessedPassword, deadline?: AbortSignal): Promise<Strength> {
  // Started lazily: the dictionaries take several megabytes.
  const estimator = (worker ??= new Worker(program));
  estimator.ref();
  estimator.postMessage(guessed); // oxlint-disable-line unicorn/require-post-message-target-origin -- no window
  try {
    const [strength] = (await once(estimator, "message", deadline && { signal: deadline })) as [Strength];
    estimator.unref();
    return strength;
  } catch (error) {
    worker = undefined;
    await estimator.terminate();
    throw deadline?.aborted ? unavailable("The password takes too long to check.") : error;
  }
}
