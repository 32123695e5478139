// Some mutations take a recent proof of who the user is: they fail until the user has given one, and are repeated then.
import { describe } from "./errors";
import { signal } from "./signal";

/** A question to the user, which waits for the proof. */
export interface AskedProof {
  /** How it can be given: `PASSKEY`, `ONE_TIME_CODE`, `PASSWORD`, or `SIGN_IN`. */
  ways: readonly string[];
  /** Ends the question. */
  settle: (isProven: boolean) => void;
}

export const askedProof = signal<AskedProof | undefined>(undefined);

/** Whether a mutation failed for a missing proof, which the user has given meanwhile. */
export async function isProvenAfter(error: unknown): Promise<boolean> {
  const { code, satisfiedBy: ways = [] } = describe(error);
  if (code !== "STEP_UP_REQUIRED" || ways.length === 0) return false;
  askedProof.value?.settle(false);
  return new Promise((resolve) => {
    const asked: AskedProof = {
      ways,
      settle: (isProven) => {
        if (askedProof.value === asked) askedProof.set(undefined);
        resolve(isProven);
      },
    };
    askedProof.set(asked);
  });
}
