// Schemas of zod for values that are no GraphQL input. All faults of a value are reported together, as sentences.
import * as z from "zod/mini";
import type { Problems } from "./errors.js";
import { isObject } from "./objects.js";
import { isStorable, textProblem, wholeNumber } from "./text.js";

/** A value whose schema holds so far, with its faults. */
export type Payload<Value> = z.core.ParsePayload<Value>;

/** A function that returns the violated rule of a text as a sentence, `undefined` for valid text. */
export type TextRule = (text: string) => string | undefined;

/** Validates a value. Adds every fault to `problems`, with its path from `path`; returns `undefined` if there is any. */
export function validated<Value>(
  schema: z.ZodMiniType<Value>,
  value: unknown,
  problems: Problems,
  path: string,
): Value | undefined {
  const { data, error } = z.safeParse(schema, value, { error: sentenceOf });
  for (const issue of error?.issues ?? []) {
    const unknown = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [key]) : [[]];
    for (const key of unknown) problems.add(pathText(path, [...issue.path, ...key]), issue.message);
  }
  return data;
}

/** Spells a path from `start`: `document.agents[0].name`. */
const pathText = (start: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => text + (typeof key === "number" ? `[${key}]` : `.${String(key)}`), start);

const typeRules: Record<string, string> = {
  string: "Must be a string.",
  number: "Must be a number.",
  boolean: "Must be true or false.",
  array: "Must be a list.",
  object: "Must be an object.",
  map: "Must be an object.",
};

/** Returns the sentence for a fault, unless the schema has one. */
function sentenceOf(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "Is required." : typeRules[issue.expected];
    case "invalid_value":
      return issue.input === undefined ? "Is required." : `Must be one of: ${issue.values.join(", ")}.`;
    case "too_big":
      return `Must have at most ${issue.maximum} entries.`;
    case "unrecognized_keys":
      return `Is not known. Known are ${Object.keys((issue.inst as z.ZodMiniObject).shape).join(", ")}.`;
    default:
      return undefined;
  }
}

/** Adds a fault of a value or of a part of it, unless `message` is `undefined`. Further rules are checked all the same. */
export function addFault(payload: Payload<unknown>, message: string | undefined, ...path: PropertyKey[]): void {
  if (message !== undefined)
    payload.issues.push({ code: "custom", input: payload.value, message, path, continue: true });
}

/** Text that can be stored. */
export const storable = z
  .string()
  .check(z.refine(isStorable, { error: "Must be valid Unicode without NUL characters.", abort: true }));

export const text = (problemOf: TextRule) => storable.check((payload) => addFault(payload, problemOf(payload.value)));

export const matching = (pattern: RegExp, rule: string) => z.string().check(z.regex(pattern, rule));

/** Text of at most so many characters. */
export const prose = (longest: number) =>
  storable.check(z.maxLength(longest, `Must be at most ${longest} characters.`));

export function whole(least: number, most: number) {
  const rule = wholeNumber(least, most);
  return z.int({ error: rule, abort: true }).check(z.minimum(least, rule), z.maximum(most, rule));
}

export const list = <Entry extends z.ZodMiniType>(most: number, entry: Entry) =>
  z.array(entry).check(z.maxLength(most));

/** An object with keys of any name that conforms to a rule. Unlike in a record of zod, it may be `__proto__`. */
export function map<Value extends z.ZodMiniType>(most: number, value: Value, keyProblem: TextRule = textProblem) {
  const key = z.string().check((payload) => addFault(payload, textProblem(payload.value) ?? keyProblem(payload.value)));
  return z.pipe(
    z.pipe(z.transform(mapOf), z.map(key, value).check(z.maxSize(most))),
    z.transform((found: Map<string, z.output<Value>>) => Object.fromEntries(found)),
  );
}

const mapOf = (value: unknown): unknown => (isObject(value) ? new Map(Object.entries(value)) : value);

/**
 * A value that is converted once its schema holds, although rules of its parts may be violated. The conversion may add
 * faults.
 */
export const converted = <Given, Value>(
  schema: z.ZodMiniType<Given>,
  convert: (payload: Payload<Given>) => Value,
): z.ZodMiniType<Value> =>
  schema.check((payload) => {
    payload.value = convert(payload) as never;
  }) as unknown as z.ZodMiniType<Value>;

/** The JSON Schema of values before they are converted. It lacks the rules that are functions. */
export const jsonSchemaOf = (schema: z.core.$ZodType): z.core.JSONSchema.BaseSchema =>
  z.toJSONSchema(schema, {
    io: "input",
    unrepresentable: ({ zodSchema }) => {
      if (!(zodSchema instanceof z.ZodMiniMap)) return "throw";
      const { $schema: _, ...values } = jsonSchemaOf(zodSchema.def.valueType);
      return { type: "object", additionalProperties: values };
    },
  });
