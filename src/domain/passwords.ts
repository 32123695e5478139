import type { ZxcvbnFactory } from "@zxcvbn-ts/core";

/** What is known of the person a password belongs to, and so makes it easy to guess. */
export interface PasswordOwner {
  email?: string;
  username?: string;
  name?: string;
}

export interface PasswordCheck {
  valid: boolean;
  /** What to do better, in sentences; empty when there is nothing. */
  details: string;
}

/** Longest password in bytes of UTF-8. */
export const longestPassword = 1024;

/** How many characters count for the strength; the estimator's time grows with the square of them. */
const estimatedCharacters = 128;

/** Spellings of one password with digits for letters that are looked up. The default of 100 takes a second at 128 characters. */
const spellings = 8;

/** Strength from 0 to 4 that a password needs. */
const requiredScore = 3;

/** Whether the password is longer than anybody may have one. Such a password is refused before it costs anything. */
export const isTooLong = (password: string) => Buffer.byteLength(password) > longestPassword;

/** The rule for new passwords: not too long, and hard to guess for somebody who knows the person. */
export async function checkPassword(password: string, owner: PasswordOwner = {}): Promise<PasswordCheck> {
  if (isTooLong(password)) return { valid: false, details: `Must be at most ${longestPassword} bytes long.` };
  const known = [owner.email, owner.email?.split("@")[0], owner.username, owner.name].filter((text) => !!text);
  const { score, feedback } = (await estimator()).check(password, known as string[]);
  const valid = score >= requiredScore;
  return { valid, details: valid ? "" : sentences(feedback.warning, feedback.suggestions) };
}

/** The fault of a new password, if it has one, as a sentence. */
export async function passwordProblem(password: string, owner?: PasswordOwner): Promise<string | undefined> {
  const { valid, details } = await checkPassword(password, owner);
  return valid ? undefined : details;
}

const sentences = (warning: string | null, suggestions: string[]) =>
  [warning, ...suggestions].filter((text) => !!text).join(" ") || "Must be harder to guess.";

let loading: Promise<ZxcvbnFactory> | undefined;

/** The dictionaries weigh some megabytes: they are loaded for the first new password, not at start. */
function estimator(): Promise<ZxcvbnFactory> {
  loading ??= loadEstimator();
  return loading;
}

async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [core, common, english] = await Promise.all([
    import("@zxcvbn-ts/core"),
    import("@zxcvbn-ts/language-common"),
    import("@zxcvbn-ts/language-en"),
  ]);
  return new core.ZxcvbnFactory({
    dictionary: { ...common.dictionary, ...english.dictionary },
    graphs: common.adjacencyGraphs,
    translations: english.translations,
    maxLength: estimatedCharacters,
    l33tMaxSubstitutions: spellings,
  });
}
