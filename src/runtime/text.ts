/** Formats of text. Rules of values are in `values.ts`. */

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether `text` is a UUID of 36 characters, in any letter case. */
export const isUuid = (text: string): boolean => uuidPattern.test(text);

const momentPattern = /^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** Converts an RFC 3339 time to UTC, truncated to milliseconds; returns `undefined` for any other text. */
export function utcMoment(text: string): string | undefined {
  if (!momentPattern.test(text)) return undefined;
  const daysInMonth = new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
  const time = new Date(text.toUpperCase());
  if (Number(text.slice(8, 10)) > daysInMonth || Number.isNaN(time.getTime())) return undefined;
  const utc = time.toISOString();
  // The conversion to UTC may leave the years 0001 to 9999. Postgres has no year 0.
  return utc.length === 24 && !utc.startsWith("0000") ? utc : undefined;
}

const truths = new Map([
  ["true", true],
  ["1", true],
  ["t", true],
  ["false", false],
  ["0", false],
  ["f", false],
]);

/** Parses a boolean, in any letter case; returns `undefined` for any other text. */
export const truthOf = (text: string): boolean | undefined => truths.get(text.toLowerCase());

/** Whether Postgres and JSON can hold the text: valid Unicode without NUL. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes("\0");

/** Whether Postgres can hold a value of JSON: all text in it, and all names. */
export const holdsStorableText = (value: unknown): boolean => {
  if (typeof value === "string") return isStorable(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, each]) => isStorable(key) && holdsStorableText(each));
};

/**
 * Characters that terminals and pages obey instead of showing them: C0 and C1, line and paragraph separators, and
 * embeddings, overrides, and isolates of the bidirectional algorithm. Names need its marks, U+200E, U+200F, and U+061C.
 */
const obeyed = /[\p{Cc}\u2028-\u202e\u2066-\u2069]/u;

/** Whether a text has characters that terminals and pages obey. */
export const isObeyed = (text: string): boolean => obeyed.test(text);

/** Makes text of another system a label: without characters that terminals and pages obey, cut to a number of characters. */
export const cleanLabel = (text: string, longest: number): string =>
  Array.from(
    text
      .replace(/[\u202a-\u202e\u2066-\u2069]/g, "")
      .replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, " ")
      .trim(),
  )
    .slice(0, longest)
    .join("")
    .trim();

export const storableRule = "Must be valid Unicode without NUL characters.";

export const textProblem = (text: string): string | undefined => (isStorable(text) ? undefined : storableRule);

/**
 * Folds an email or username for comparison: A to Z become lower case, all other characters stay unchanged. Unicode
 * case folding is unsuitable: the Kelvin sign would match k, and with it the account of another user.
 */
export const foldCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
