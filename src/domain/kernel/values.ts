// Rules of values, as schemas of zod. The sentences of faults, the limits that descriptions state, JSON Schema, and the
// types of inputs all come from the schema of a value. Rules that several areas have are here, others in their areas.
// oxlint-disable no-underscore-dangle -- zod names so what extensions of it read.
import * as z from "zod/mini";
import type { Problems } from "./errors.js";
import { isObject } from "../../runtime/json.js";
import { isObeyed, isStorable, isUuid, storableRule, textProblem } from "../../runtime/text.js";
import { longestEmail, longestUrl } from "../../entities/lengths.js";

/** The schema of a value. */
export type Value<Type = unknown> = z.ZodMiniType<Type>;

/** How people enter a value. */
export type ValueKind = "secret" | "duration" | "multi-line" | "choice" | "reference";

/** Further properties of a value, besides those that JSON Schema can say, which are in the schema itself. */
export interface Meaning {
  kind?: ValueKind;
  /** Its limits as a part of a sentence: `at most 64 characters`. */
  limits?: string;
  /** The sentence for a number that its type rejects already, in place of the range of the type. */
  rule?: string;
  /** The scalar of GraphQL, where it is not that of the type of JSON. */
  scalar?: "UUID" | "DateTime" | "EmailAddress" | "URL" | "BigInt" | "JSONObject" | undefined;
  /** Whether people paste the text: white space around it is removed before anything reads it. */
  isPasted?: true;
}

const meanings = z.registry<Meaning>();

/** Says what else is known of a value. */
export const meant = <Schema extends z.ZodMiniType>(schema: Schema, meaning: Meaning): Schema => {
  const known = schema.clone(schema._zod.def, { parent: true });
  meanings.add(known, { ...meanings.get(schema), ...meaning });
  return known;
};

/** Says that people paste a value, such as a license, an email address, a token, or a code. */
export const pasted = <Schema extends z.ZodMiniType>(schema: Schema): Schema => meant(schema, { isPasted: true });

/** Returns the value of a field that may be absent, null, or have a default. */
export function contentOf(schema: z.core.$ZodType): z.core.$ZodType {
  const { def } = schema._zod;
  return "innerType" in def ? contentOf(def.innerType as z.core.$ZodType) : schema;
}

/** Returns the value of the entries of a list; `undefined` for other values. */
export function entryOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const content = contentOf(schema);
  return content instanceof z.ZodMiniArray ? content._zod.def.element : undefined;
}

/** Returns what else is known of a value. */
export const meaningOf = (schema: z.core.$ZodType): Meaning => meanings.get(contentOf(schema)) ?? {};

/** A value whose schema holds so far, with its faults. */
export type Payload<Type> = z.core.ParsePayload<Type>;

/** A function that returns the violated rule of a text as a sentence, `undefined` for valid text. */
export type TextRule = (text: string) => string | undefined;

/** Returns the sentence for the first fault of a value, `undefined` for a valid one. */
export const faultOf = (schema: z.ZodMiniType, value: unknown): string | undefined =>
  z.safeParse(schema, value, { error: sentenceOf }).error?.issues[0]!.message;

/** Whether the rules of a value hold. */
export const isValid = (schema: z.ZodMiniType, value: unknown): boolean => z.safeParse(schema, value).success;

/** Validates a value. Adds every fault to `problems`, with its path from `path`; returns `undefined` if there is any. */
export function validate<Type>(
  schema: z.ZodMiniType<Type>,
  value: unknown,
  problems: Problems,
  path: string,
): Type | undefined {
  const { data, error } = z.safeParse(schema, value, { error: sentenceOf });
  for (const issue of error?.issues ?? []) {
    const unknown = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [key]) : [[]];
    for (const key of unknown) problems.add(pathText(path, [...issue.path, ...key]), issue.message);
  }
  return data;
}

/**
 * Checks the rules of the fields of an input that are given, and adds every fault to `problems`, with its path from
 * `path`. Presence and types were checked before: absent fields and null violate no rule.
 */
export function check<Shape extends z.core.$ZodLooseShape>(
  { shape }: Pick<z.ZodMiniObject<Shape>, "shape">,
  given: { readonly [Field in keyof Shape]?: unknown },
  problems: Problems,
  path = "",
): void {
  for (const [field, schema] of Object.entries(shape)) {
    const value = given[field];
    if (value != null) validate(schema as z.ZodMiniType, value, problems, path === "" ? field : `${path}.${field}`);
  }
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

/** Makes the schema of each limit once. */
function byLimit<Schema>(make: (most: number) => Schema): (most: number) => Schema {
  const made = new Map<number, Schema>();
  return (most) => {
    const known = made.get(most) ?? make(most);
    made.set(most, known);
    return known;
  };
}

// Texts. The keywords of JSON Schema that stand beside a rule are those that zod cannot derive from it. JSON Schema counts
// characters: a limit in bytes is passed on as it is, because no text has more characters than bytes.

/** Any text. */
export const string = z.string();

/** Text whose rule is elsewhere. `keywords` are what JSON Schema can say of it. */
export const textWith = (keywords: z.core.GlobalMeta) => z.string().check(z.meta(keywords));

const alternatives = (values: readonly string[]) =>
  `(${values.map((each) => each.replace(/[.+]/g, String.raw`\$&`)).join("|")})`;

/** Text that is one of these, unless it is empty. */
export const oneOfTexts = (values: readonly string[]) => textWith({ pattern: `^${alternatives(values)}?$` });

/** Text that is not shown, such as a password or a token. */
export const secret = meant(z.string(), { kind: "secret" });

/** A secret that callers present, such as a token or a code, of so many bytes at most. */
export const presented = byLimit((most) => meant(bytes(0, most), { kind: "secret" }));

/** Text that can be stored. */
export const storable = z.string().check(z.refine(isStorable, { error: storableRule, abort: true }));

/** Text that conforms to a rule. `keywords` are what JSON Schema can say of it. */
export const textBy = (problemOf: TextRule, keywords: z.core.GlobalMeta = {}) =>
  storable.check((payload) => addFault(payload, problemOf(payload.value)), z.meta(keywords));

/** Text of a form. `keywords` are what JSON Schema can say besides. */
export const matching = (pattern: RegExp, rule: string, keywords: z.core.GlobalMeta = {}) =>
  z.string().check(z.regex(pattern, rule), z.meta(keywords));

/** Text that is one of these. */
export const knownText = (values: readonly string[]) =>
  matching(new RegExp(`^${alternatives(values)}$`), `Must be one of: ${values.join(", ")}.`);

/** Text that conforms to the rule of a value, or is empty. */
export function orEmpty(value: z.ZodMiniType<string>) {
  const { pattern, minLength: _, ...keywords } = keywordsOf(value);
  const { kind, limits } = meaningOf(value);
  const schema = z
    .string()
    .check(
      (payload) => addFault(payload, payload.value === "" ? undefined : faultOf(value, payload.value)),
      z.meta({ ...keywords, ...(typeof pattern === "string" && { pattern: `^$|${pattern}` }) }),
    );
  return meant(schema, { ...(kind && { kind }), ...(limits && { limits }) });
}

/** Text that conforms to the rules of a value and to a further one, which comes first. */
export const further = (value: z.ZodMiniType<string>, problemOf: TextRule) =>
  meant(
    z
      .string()
      .check(
        (payload) => addFault(payload, problemOf(payload.value) ?? faultOf(value, payload.value)),
        z.meta(keywordsOf(value)),
      ),
    meaningOf(value),
  );

/** Text that conforms to the rules of a value. Empty text is reported as absent. */
export const nonEmpty = (value: z.ZodMiniType<string>) =>
  further(value, (text) => (text === "" ? "Is required." : undefined));

const reservedNames = new Set(["new", "create", "me", "default"]);

/** Names in URLs: of users, organizations, templates, workspaces, tasks, and groups. */
export const urlName = byLimit((most) => {
  const rule = `Must be 1 to ${most} letters, digits and single hyphens between them.`;
  const ends = { error: rule, abort: true };
  const schema = z.string().check(
    z.minLength(1, ends),
    z.maxLength(most, ends),
    z.regex(/^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$/, ends),
    z.refine((given) => !reservedNames.has(given.toLowerCase()), "This name is reserved."),
  );
  return meant(schema, { limits: `at most ${most} letters, digits, and single hyphens between them` });
});

const atMost = (given: string, most: number): string | undefined =>
  given.length > most && Array.from(given).length > most ? `Must be at most ${most} characters.` : undefined;

const shownRule = "Must be one line without control characters and characters that change the direction of text.";

/** Names that people read: one line without white space around it, and without what terminals and pages obey. */
export const label = byLimit((most) => {
  const schema = textBy(
    (given) =>
      atMost(given, most) ??
      (given.trim() === given ? undefined : "Must not begin or end with white space.") ??
      (isObeyed(given) ? shownRule : undefined),
    { maxLength: most },
  );
  return meant(schema, { limits: `at most ${most} characters` });
});

/** Free text of so many characters at most, such as descriptions. */
export const prose = byLimit((most) =>
  meant(
    textBy((given) => atMost(given, most), { maxLength: most }),
    { kind: "multi-line", limits: `at most ${most} characters` },
  ),
);

/** A part of a name or an address by which lists are searched. */
export const searchText = prose(longestEmail);

/** How many bytes or characters a text may have, as a part of a sentence. */
const sizes = (least: number, most: number, unit: string) =>
  least === 0 ? `at most ${most} ${unit}` : `${least} to ${most} ${unit}`;

/** Text of so many characters. */
export const characters = (least: number, most: number) => {
  const limits = sizes(least, most, "characters");
  const schema = textBy(
    (given) => (given.length < least || Array.from(given).length > most ? `Must be ${limits} long.` : undefined),
    { ...(least > 0 && { minLength: least }), maxLength: most },
  );
  return meant(schema, { limits });
};

/** Text of so many bytes. */
export const bytes = (least: number, most: number) => {
  const limits = sizes(least, most, "bytes");
  const schema = textBy(
    (given) => {
      const size = Buffer.byteLength(given);
      return size >= least && size <= most ? undefined : `Must be ${limits}.`;
    },
    { ...(least > 0 && { minLength: 1 }), maxLength: most },
  );
  return meant(schema, { limits });
};

/** Whether `given` is an HTTP URL that all parsers read alike: without user information, backslashes and white space. */
const isUrl = (given: string): boolean =>
  /^https?:\/\/(?!\/|[^/?#]*@)[^\s\\\p{Cc}]+$/iu.test(given) &&
  Buffer.byteLength(given) <= longestUrl &&
  given.isWellFormed() &&
  URL.canParse(given);

/** Whether `given` is a path on this server that browsers cannot take for another host. */
const isPath = (given: string): boolean =>
  /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(given) && Buffer.byteLength(given) <= longestUrl && given.isWellFormed();

const scheme = "[Hh][Tt][Tt][Pp][Ss]?://";

export const httpUrl = z
  .string()
  .check(
    z.refine(isUrl, `Must be an http or https URL of at most ${longestUrl} bytes without user information.`),
    z.meta({ minLength: 8, maxLength: longestUrl, pattern: `^${scheme}` }),
  );

/** Icons and avatars. */
export const icon = z.string().check(
  z.refine(
    (given) => given === "" || isPath(given) || isUrl(given),
    `Must be empty, a path that begins with one slash, or an http or https URL of at most ${longestUrl} bytes.`,
  ),
  z.meta({ maxLength: longestUrl, pattern: `^($|/(?![/\\\\])|${scheme})` }),
);

// RFC 5321 addresses without quoted strings and address literals, Unicode included.
const emailPattern =
  /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*@(?!-)[\p{L}\p{M}\p{N}-]+(\.[\p{L}\p{M}\p{N}-]+)*$/u;

/** An email address. "" stands for an absent one. */
export const emailAddress = meant(
  z.string().check(
    z.refine((given) => given !== "", { error: "Is required.", abort: true }),
    z.refine(
      (given) => Buffer.byteLength(given) <= longestEmail && emailPattern.test(given),
      `Must be one email address of at most ${longestEmail} bytes.`,
    ),
    z.meta({ minLength: 3, maxLength: longestEmail, pattern: "^[^@\\s]+@[^@\\s]+$" }),
  ),
  { scalar: "EmailAddress" },
);

/** The ID or a name of an object. */
export const reference = meant(z.string(), { kind: "reference" });

export const uuid = meant(z.string().check(z.refine(isUuid, "Must be a UUID.")), { scalar: "UUID" });

/** A time in UTC, as the input of a time in RFC 3339 form becomes it. */
export const dateTime = meant(z.string(), { scalar: "DateTime" });

export const flag = z.boolean();

/** One of the values of an enum. */
export const choice = <Values extends Readonly<Record<string, string | number>>>(values: Values) =>
  meant(z.enum(values), { kind: "choice" });

/** A list of so many entries at most. `items` is the word for them in the fault: "Must be at most 1000 users." */
export const list = <Entry extends z.ZodMiniType>(most: number, entry: Entry, items?: string) =>
  meant(z.array(entry).check(z.maxLength(most, items && `Must be at most ${most} ${items}.`)), {
    limits: `at most ${most}`,
  });

/** A list of at least one entry, and so many at most. */
export const someOf = <Entry extends z.ZodMiniType>(most: number, entry: Entry, rule: string) =>
  meant(z.array(entry).check(z.minLength(1, rule), z.maxLength(most, rule)), { limits: `1 to ${most}` });

/** A list of any length. */
export const listOf = <Entry extends z.ZodMiniType>(entry: Entry) => z.array(entry);

/** A list of so many IDs at most. */
export const idList = (most: number, items = "ids") => list(most, uuid, items);

const largestInt = 2_147_483_647;

/** The rule of integers within limits. */
export const wholeNumber = (least: number, most: number): string => `Must be a whole number from ${least} to ${most}.`;

/** An integer. Those that exceed 32 bits are of the scalar BigInt. */
export function int(least: number, most: number, rule = wholeNumber(least, most)) {
  const schema = z.int({ error: rule, abort: true }).check(z.minimum(least, rule), z.maximum(most, rule));
  const limits =
    most === largestInt || most === Number.MAX_SAFE_INTEGER ? `at least ${least}` : `from ${least} to ${most}`;
  return meant(schema, { limits, rule, ...(most > largestInt && { scalar: "BigInt" as const }) });
}

/** Any integer of 32 bits. */
export const anyInt = z.int();

/** A number of seconds. */
export const duration = (least: number, most: number) => meant(int(least, most), { kind: "duration" });

/** A JSON object. `keywords` are what JSON Schema can say of it. */
export const objectBy = (keywords: z.core.GlobalMeta = {}) =>
  meant(z.record(z.string(), z.unknown()).check(z.meta(keywords)), { scalar: "JSONObject" });

/** Any JSON object. */
export const jsonObject = objectBy();

/** An object with keys of any name that conforms to a rule. Unlike in a record of zod, it may be `__proto__`. */
export function map<Entry extends z.ZodMiniType>(most: number, value: Entry, keyProblem: TextRule = textProblem) {
  const key = z.string().check((payload) => addFault(payload, textProblem(payload.value) ?? keyProblem(payload.value)));
  return z.pipe(
    z.pipe(z.transform(mapOf), z.map(key, value).check(z.maxSize(most))),
    z.transform((found: Map<string, z.output<Entry>>) => Object.fromEntries(found)),
  );
}

const mapOf = (value: unknown): unknown => (isObject(value) ? new Map(Object.entries(value)) : value);

/**
 * A value that is converted once its schema holds, although rules of its parts may be violated. The conversion may add
 * faults.
 */
export const convertBy = <Given, Type>(
  schema: z.ZodMiniType<Given>,
  convert: (payload: Payload<Given>) => Type,
): z.ZodMiniType<Type> =>
  schema.check((payload) => {
    payload.value = convert(payload) as never;
  }) as unknown as z.ZodMiniType<Type>;

// Inputs: objects of values, each with a description, in which `{limits}` stands for the limits of the value.

/** The input of a mutation or a filter: its fields. */
export const inputOf = z.object;

/** The type of an input. */
export type Input<Schema extends z.ZodMiniType> = z.output<Schema>;

const describedBy = (schema: z.core.$ZodType, words: string): z.core.$ZodCheck<unknown> =>
  z.describe<unknown>(words.replace("{limits}", () => meaningOf(schema).limits ?? "no limits"));

/** A field that must be given. */
export const required = <Schema extends z.ZodMiniType>(schema: Schema, words: string): Schema =>
  schema.check(describedBy(schema, words));

/** A field that may be absent or null. */
export const optional = <Schema extends z.ZodMiniType>(schema: Schema, words: string) =>
  z.optional(z.nullable(schema)).check(describedBy(schema, words));

/** A field that has a value if it is absent. */
export const otherwise = <Schema extends z.ZodMiniType>(
  schema: Schema,
  value: z.core.util.NoUndefined<z.output<Schema>>,
  words: string,
) => z._default(schema, value).check(describedBy(schema, words));

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

const limiting = new Set([
  "minLength",
  "maxLength",
  "pattern",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "maxProperties",
]);

/** The keywords of JSON Schema that limit a value, and the entries of a list. */
export function keywordsOf(schema: z.core.$ZodType): Record<string, unknown> {
  const stated = jsonSchemaOf(contentOf(schema)) as Record<string, unknown>;
  const isAny = stated["minimum"] === Number.MIN_SAFE_INTEGER;
  return Object.fromEntries(
    Object.entries(stated).filter(([keyword]) => limiting.has(keyword) && !(isAny && keyword.endsWith("imum"))),
  );
}
