// Values at the limits that a description of bodies states, and one beyond them.
import { newId } from "./ids.js";
import type { Description, Schema } from "./openapi.js";

/** A limit of a value in a body: a value that is at it, one that is one beyond it, and the body that has a value there. */
export interface Edge {
  field: string;
  keyword: string;
  at: unknown;
  beyond: unknown;
  bodyWith: (value: unknown) => unknown;
}

type Resolve = Description["resolved"];
type Place = Pick<Edge, "field" | "bodyWith">;

/** Beginnings of texts, of which the first one that a schema permits is used, after that of an example. */
const beginnings = ["", "https://example.com/", "a@b", "~/"];

/** Texts that break patterns. */
const odd = ["\u0001", "?", "a?", "-", "a b", "/", "none", "x".repeat(50)];

const permits = ({ minLength = 0, maxLength = Infinity, pattern = "", format }: Schema, text: string): boolean =>
  text.length >= minLength &&
  text.length <= maxLength &&
  new RegExp(pattern, "u").test(text) &&
  (format !== "email" || text.includes("@"));

/** A text of a length that a schema permits, which is longer than an example if it has to be. */
const textOf = (schema: Schema, length: number, example: unknown): string | undefined =>
  [...(typeof example === "string" ? [example] : []), ...beginnings]
    .filter((beginning) => beginning.length <= length)
    .map((beginning) => beginning.padEnd(length, "a"))
    .find((text) => permits(schema, text));

const entriesOf = (value: unknown) =>
  (typeof value === "object" && !Array.isArray(value) ? value : {}) as Record<string, unknown>;

/** A value of a schema, such as an example; those of different numbers differ where they can. */
function sampleOf(resolved: Resolve, given: Schema, number = 0, example?: unknown): unknown {
  if (typeof example === "string" && permits(resolved(given), `${example}${number}`)) return `${example}${number}`;
  if (typeof example === "object") return example;
  const schema = resolved(given);
  if (schema.anyOf) return sampleOf(resolved, schema.anyOf[0]!, number);
  const { type, format, enum: choices, required = [], properties = {}, minimum = 0 } = { ...schema, ...given };
  if (choices) return choices[0];
  if (type === "array") return [];
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return Math.max(minimum, 1);
  if (type === "object")
    return Object.fromEntries(required.map((name) => [name, sampleOf(resolved, properties[name]!, number)]));
  if (format === "uuid") return newId();
  if (format === "date-time") return "2026-01-01T00:00:00Z";
  // The first one of those that a pattern lists.
  const [, listed = ""] = /^\^\(([^|()]*)/.exec(schema.pattern ?? "") ?? [];
  const made = [...beginnings.map((beginning) => `${beginning}${number}`), `a${number}`, "a".repeat(43), ""];
  const texts = [...made, listed.replaceAll("\\", "")];
  return texts.find((text) => permits({ ...schema, ...given }, text));
}

/**
 * The limits of a schema and of all within it. `base` is a body that it permits, `example` another one, from which values
 * are taken that the base lacks.
 */
export function edgesOf(resolved: Resolve, given: Schema, base: unknown, example: unknown): Edge[] {
  return within(given, base, { field: "", bodyWith: (value) => value }, example);

  function within(part: Schema, value: unknown, place: Place, other: unknown = value): Edge[] {
    const schema = { ...resolved(part), ...part };
    const [first] = schema.anyOf ?? [];
    return [
      ...own(schema, value, place),
      ...(first ? within(first, value, place, other) : inside(schema, value, place, other)),
    ];
  }

  function inside(schema: Schema, value: unknown, place: Place, other: unknown): Edge[] {
    const { properties = {}, items, additionalProperties: entry, propertyNames } = schema;
    const object = entriesOf(value);
    const from = entriesOf(other);
    const into = (name: string, part: Schema) =>
      within(part, object[name] ?? from[name] ?? sampleOf(resolved, part), {
        field: place.field === "" ? name : `${place.field}.${name}`,
        bodyWith: (inner) => place.bodyWith({ ...object, [name]: inner }),
      });
    const known = Object.entries(properties).flatMap(([name, part]) => into(name, part));
    const key = Object.keys(object)[0] ?? (sampleOf(resolved, propertyNames ?? {}, 1) as string);
    const ofEntries = typeof entry === "object" ? into(key, entry) : [];
    if (!items) return [...known, ...ofEntries];
    const [item = sampleOf(resolved, items)] = (value ?? []) as unknown[];
    return within(items, item, {
      field: `${place.field}[0]`,
      bodyWith: (inner) => place.bodyWith([inner]),
    });
  }

  function own(schema: Schema, value: unknown, place: Place): Edge[] {
    const edges: Array<[keyword: string, at: unknown, beyond: unknown]> = [];
    const { minLength, maxLength, pattern, minimum, maximum, minItems, maxItems, maxProperties, propertyNames } =
      schema;
    if (maxLength !== undefined) {
      const longest = textOf(schema, maxLength, value);
      edges.push(["maxLength", longest, longest && `${longest}a`]);
    }
    if (minLength) {
      const shortest = textOf(schema, minLength, value);
      edges.push(["minLength", shortest, shortest?.slice(1)]);
    }
    if (pattern !== undefined) {
      const wrong = odd.find((text) => text.length <= (maxLength ?? 50) && !new RegExp(pattern, "u").test(text));
      const right = typeof value === "string" && permits(schema, value) ? value : sampleOf(resolved, schema);
      edges.push(["pattern", right, wrong]);
    }
    if (minimum !== undefined) edges.push(["minimum", minimum, minimum - 1]);
    if (maximum !== undefined) edges.push(["maximum", maximum, maximum + 1]);
    const listOf = (length: number) =>
      Array.from({ length }, (_, index) => sampleOf(resolved, schema.items!, index, (value as unknown[])[0]));
    if (minItems !== undefined) edges.push(["minItems", listOf(minItems), listOf(minItems - 1)]);
    if (maxItems !== undefined) edges.push(["maxItems", listOf(maxItems), listOf(maxItems + 1)]);
    const entry = schema.additionalProperties as Schema;
    const mapOf = (names: string[]) => Object.fromEntries(names.map((name) => [name, sampleOf(resolved, entry)]));
    const named = (length: number) =>
      Array.from({ length }, (_, index) => sampleOf(resolved, propertyNames ?? {}, index) as string);
    if (maxProperties !== undefined)
      edges.push(["maxProperties", mapOf(named(maxProperties)), mapOf(named(maxProperties + 1))]);
    for (const { keyword, at, beyond } of propertyNames ? own(propertyNames, undefined, place) : [])
      edges.push([`${keyword} of names`, mapOf([at as string]), mapOf([beyond as string])]);
    return edges.map(([keyword, at, beyond]) => ({ ...place, keyword, at, beyond }));
  }
}
