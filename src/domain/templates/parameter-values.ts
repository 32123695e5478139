import { RE2JS, RE2JSException } from "re2js";
import { quote } from "../kernel/errors.js";
import { textProblem } from "../../runtime/text.js";
import { bytes } from "../kernel/values.js";

/** The types of parameters. Variables have all but the last. */
export const TemplateParameterKind = { STRING: "string", NUMBER: "number", BOOL: "bool", LIST: "list" } as const;
export type TemplateParameterKind = (typeof TemplateParameterKind)[keyof typeof TemplateParameterKind];
export type ValueType = TemplateParameterKind;

export const variableTypes = ["string", "number", "bool"] as const;

/** How a number may change from one build to the next. */
export const MonotonicDirection = { INCREASING: "increasing", DECREASING: "decreasing" } as const;
export type MonotonicDirection = (typeof MonotonicDirection)[keyof typeof MonotonicDirection];

/** The rules for the values of a parameter besides its type. */
export interface ValueRules {
  type: ValueType;
  options: ReadonlyArray<{ value: string }>;
  validation?: Validation | undefined;
}

export interface Validation {
  /** In RE2 syntax; "" for none. */
  regex: string;
  /** The sentence that replaces those of the rules; "" for none. */
  error: string;
  min?: number | undefined;
  max?: number | undefined;
  monotonic?: MonotonicDirection | undefined;
}

/** Maximum length of a value in bytes. */
const longest = 8192;

/** The value of a variable or parameter in inputs, as text. Its type has further rules. */
export const valueText = bytes(0, longest);

const numberPattern = /^-?(0|[1-9]\d{0,14})(\.\d{1,10})?$/;

/**
 * Converts a value of a document to the text by which values are stored and sent: a string as is, other values of the
 * type in JSON. Returns `undefined` for a value of another type.
 */
export function textOf(type: ValueType, value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const isNatural =
    type === "list" ? isTexts(value) : type === "number" || type === "bool" ? type === typeOf(value) : false;
  return isNatural ? JSON.stringify(value) : undefined;
}

const typeOf = (value: unknown) => (typeof value === "boolean" ? "bool" : typeof value);

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");

/** Returns the rule of a type that a value violates; `undefined` if it has the type. */
export function typeProblem(type: ValueType, value: string): string | undefined {
  if (Buffer.byteLength(value) > longest) return `Must be at most ${longest} bytes.`;
  switch (type) {
    case "string":
      return textProblem(value);
    case "number":
      return numberPattern.test(value) ? undefined : "Must be a decimal number of at most 15 digits.";
    case "bool":
      return value === "true" || value === "false" ? undefined : "Must be true or false.";
    case "list":
      return listOf(value) ? undefined : "Must be a JSON array of strings.";
    default:
      return type satisfies never;
  }
}

/** The elements of a list; `undefined` for any other text. */
function listOf(value: string): string[] | undefined {
  try {
    const found: unknown = JSON.parse(value);
    return isTexts(found) && found.every((each) => textProblem(each) === undefined) ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the rule of a parameter that a value violates; `undefined` if it is valid. */
export const valueProblem = (rules: ValueRules, value: string): string | undefined =>
  typeProblem(rules.type, value) ?? optionProblem(rules, value) ?? validationProblem(rules, value);

function optionProblem({ type, options }: ValueRules, value: string): string | undefined {
  if (options.length === 0) return undefined;
  const allowed = new Set(options.map((option) => option.value));
  const wrong = (type === "list" ? listOf(value)! : [value]).find((each) => !allowed.has(each));
  return wrong === undefined ? undefined : `${quote(wrong)} is not one of the options.`;
}

function validationProblem({ validation }: ValueRules, value: string): string | undefined {
  if (!validation) return undefined;
  const { regex, error, min = -Infinity, max = Infinity } = validation;
  if (regex !== "" && !isMatch(regex, value)) return error || `Must match the regular expression ${quote(regex)}.`;
  if (Number(value) < min) return error || `Must be at least ${min}.`;
  return Number(value) > max ? error || `Must be at most ${max}.` : undefined;
}

/** Returns the rule that a change of a monotonic parameter violates; `undefined` if the change is allowed. */
export function monotonicProblem({ validation }: ValueRules, value: string, previous: string): string | undefined {
  const change = Number(value) - Number(previous);
  if (validation?.monotonic === "increasing" && change < 0)
    return validation.error || `Must not be less than ${previous}.`;
  if (validation?.monotonic === "decreasing" && change > 0)
    return validation.error || `Must not be more than ${previous}.`;
  return undefined;
}

/** Maximum length of a regular expression in characters. */
const longestPattern = 500;

/** Maximum sizes of the compiled expressions, in instructions: of one, and of all in a document. */
const largest = 1000;
export const largestTogether = 5000;

/** Returns the rule of regular expressions (RE2 syntax) that `pattern` violates; `undefined` if it is valid. */
export function patternProblem(pattern: string): string | undefined {
  if (pattern.length > longestPattern) return `Must be at most ${longestPattern} characters.`;
  if (sizeOf(pattern) > largest) return "Must be smaller: its repetitions multiply to too large an expression.";
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSException) return "Must be a regular expression in RE2 syntax.";
    throw error;
  }
}

/** Whether any part of a text matches, as RE2 does: in time linear in the lengths of the text and the expression. */
const isMatch = (pattern: string, text: string): boolean => RE2JS.compile(pattern).test(text);

// Quoted text, an escape, a class, a group, or a counted repetition.
const tokens = /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]])*\]|[()]|\{(\d+)(?:,(\d*))?\}|[^]/g;

/**
 * Estimates the size of the compiled expression, before it takes memory: each token counts 1, and a counted repetition
 * multiplies what it repeats.
 */
export function sizeOf(pattern: string): number {
  const outer: number[] = [];
  let size = 0;
  let last = 0;
  for (const [token, least, most] of pattern.matchAll(tokens)) {
    if (token === "(") {
      outer.push(size);
      size = last = 0;
    } else if (token === ")") {
      last = size + 2;
      size = (outer.pop() ?? size) + last;
    } else if (least !== undefined) {
      const repeated = last * Math.max(1, Number(most || least));
      size += repeated - last;
      last = repeated;
    } else {
      last = token.startsWith("\\Q") ? token.length : 1;
      size += last;
    }
  }
  return outer.reduce((sum, each) => sum + each, size);
}
