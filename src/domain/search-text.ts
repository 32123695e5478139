import { badInput, Problems, quote } from "./kernel/errors.js";
import { isUuid, textProblem, truthOf, utcMoment } from "../runtime/text.js";
import { textWith } from "./kernel/values.js";

/** The type of the values of a key: a parser, which returns `undefined` for invalid text, and the rule to report. */
export interface Kind<Value> {
  read(text: string): Value | undefined;
  rule: string;
}

export const anyText: Kind<string> = { read: (text) => text, rule: "" };

/** One of several words, in any letter case. */
export const oneOf = <const Word extends string>(...words: Word[]): Kind<Word> => ({
  read: (text) => words.find((word) => word.toLowerCase() === text.toLowerCase()),
  rule: `must be one of ${words.join(", ")}`,
});

export const yesOrNo: Kind<boolean> = { read: truthOf, rule: "must be true or false" };

/** An id, in lower case. */
export const uuid: Kind<string> = {
  read: (text) => (isUuid(text) ? text.toLowerCase() : undefined),
  rule: "must be a UUID",
};

/** An RFC 3339 time, or a date, which is its midnight in UTC. */
export const moment: Kind<string> = {
  read: (text) => utcMoment(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text),
  rule: "must be a date and time in RFC 3339 form, or YYYY-MM-DD",
};

type Kinds = Record<string, Kind<unknown>>;
type ValueOf<K> = K extends Kind<infer Value> ? Value : never;

/** A parsed search. All terms must match, each by any of its values. `words` are the terms without a key. */
export interface Search<Keys extends Kinds> {
  words: string[][];
  terms: { [Key in keyof Keys]: Array<Array<ValueOf<Keys[Key]>>> };
}

const longest = 1024;

/** A search text in inputs. `parseSearch` has its rules. */
export const searchQuery = textWith({ maxLength: longest });

const mostTerms = 20;

/** Additional rules of an area. */
export interface SearchRules {
  /** Each term must have a key, and each key must occur only once. */
  isKeyed?: boolean;
}

/**
 * Parses a search text: terms `word` or `key:value`, separated by white space. Values may be lists separated by commas.
 * Double quotes quote special characters; inside of them, `\"` and `\\` stand for `"` and `\`. `keys` are the keys of
 * the area, in lower case. Throws BAD_USER_INPUT with `message` and all faults, each of the field `q`.
 */
export function parseSearch<Keys extends Kinds>(
  text = "",
  keys: Keys,
  message: string,
  { isKeyed = false }: SearchRules = {},
): Search<Keys> {
  const unreadable = Buffer.byteLength(text) > longest ? `Must be at most ${longest} bytes.` : textProblem(text);
  if (unreadable) throw badInput([{ field: "q", detail: unreadable }], message);

  const problems = new Problems();
  const terms = Object.fromEntries(Object.keys(keys).map((key): [string, unknown[][]] => [key, []]));
  const words: string[][] = [];
  const seen = new Set<string>();
  const found = [...tokens(text)];
  problems.add("q", found.length > mostTerms ? `Must be at most ${mostTerms} terms.` : undefined);
  for (const { key, values, isOpen } of found.slice(0, mostTerms)) {
    const name = key?.toLowerCase();
    const addFault = (fault: string) =>
      problems.add("q", name === undefined ? `A word ${fault}.` : `The value of ${name} ${fault}.`);
    const isRepeated = name !== undefined && isKeyed && seen.has(name);
    if (name === undefined && isKeyed) problems.add("q", `The word ${quote(values.join())} must have a key.`);
    else if (name !== undefined && !Object.hasOwn(keys, name))
      problems.add("q", `There is no search key ${quote(name)}.`);
    else if (isRepeated) problems.add("q", `The key ${name} must occur only once.`);
    else if (isOpen) addFault("lacks its closing quote");
    else if (values.includes("")) addFault("must not be empty");
    else if (name === undefined) words.push(values);
    else terms[name]?.push(values.map((value) => read(keys[name], value, addFault)));
    if (name !== undefined) seen.add(name);
  }
  problems.throwIfAny(message);
  return { words, terms: terms as Search<Keys>["terms"] };
}

function read(kind: Kind<unknown> | undefined, text: string, addFault: (fault: string) => void): unknown {
  const value = kind?.read(text);
  if (value === undefined) addFault(kind?.rule ?? "");
  return value;
}

interface Token {
  key?: string;
  values: string[];
  /** Whether a double quote is not closed. */
  isOpen: boolean;
}

// A part of a term: quoted text, an unclosed quote, a colon or comma, or plain characters.
const part = /"(?<quoted>(?:[^"\\]|\\.)*)"|(?<open>"[^]*$)|(?<mark>[:,])|(?<plain>[^\s",:]+)/suy;

function* tokens(text: string): Generator<Token> {
  for (let at = 0; (at += text.slice(at).search(/\S|$/)) < text.length;) {
    const parts: Array<Partial<Record<string, string>>> = [];
    part.lastIndex = at;
    for (let match = part.exec(text); match; match = part.exec(text)) {
      at = part.lastIndex;
      parts.push(match.groups ?? {});
    }
    yield token(parts);
  }
}

/** The first unquoted colon, after plain characters or none, ends the key. Unquoted commas separate values. */
function token(parts: Array<Partial<Record<string, string>>>): Token {
  const [first, second] = parts;
  const keyed = first?.mark === ":" ? 1 : first?.plain !== undefined && second?.mark === ":" ? 2 : 0;
  const values = [""];
  for (const { quoted, plain, mark } of parts.slice(keyed)) {
    if (mark === ",") values.push("");
    else values.push(values.pop() + (quoted?.replace(/\\(["\\])/g, "$1") ?? plain ?? mark ?? ""));
  }
  return { ...(keyed && { key: first?.plain ?? "" }), values, isOpen: parts.at(-1)?.open !== undefined };
}
