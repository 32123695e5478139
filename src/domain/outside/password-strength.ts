import { once } from "node:events";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { programFile } from "../../program-files.js";
import { unavailable } from "../kernel/errors.js";
import { type Lane, passwordLanes } from "./lanes.js";

/** A password to be guessed at, and texts that whoever guesses knows. */
export interface GuessedPassword {
  password: string;
  known: string[];
}

/** How hard a password is to guess. */
export interface Strength {
  /** From 0, at once, to 4, hardly ever. */
  score: number;
  /** What is wrong with it and what would be better, in sentences. */
  advice: string[];
}

/** Estimates that wait beyond the one at work; more are refused. Long passwords take a tenth of a second each. */
const room = { signedIn: 250, stranger: 250 };

/** Milliseconds for one estimate, with the dictionaries read at the first. */
const patience = 10_000;

const program = programFile(`domain/outside/password-strength-worker${extname(import.meta.url)}`);
const lanes = passwordLanes(1, room);
let worker: Worker | undefined;

/** Estimates in a thread of its own, one after the other: requests of others go on meanwhile. */
export const strengthOf = (guessed: GuessedPassword, lane: Lane): Promise<Strength> => lanes[lane](() => ask(guessed));

async function ask(guessed: GuessedPassword): Promise<Strength> {
  // The dictionaries weigh some megabytes: the thread begins with the first new password, not at start.
  const estimator = (worker ??= new Worker(program));
  const time = AbortSignal.timeout(patience);
  estimator.ref();
  estimator.postMessage(guessed); // oxlint-disable-line unicorn/require-post-message-target-origin -- no window
  try {
    const [strength] = (await once(estimator, "message", { signal: time })) as [Strength];
    estimator.unref();
    return strength;
  } catch (error) {
    worker = undefined;
    await estimator.terminate();
    throw time.aborted ? unavailable("The password takes too long to check.") : error;
  }
}
