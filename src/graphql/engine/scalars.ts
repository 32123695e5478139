import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from "graphql";
import { isUuid, utcMoment } from "../../domain/kernel/text.js";

const form = (name: string, description: string, rule: string, parse: (value: unknown) => unknown) => {
  const parseValue = (value: unknown) => {
    const parsed = parse(value);
    if (parsed === undefined) throw new GraphQLError(rule);
    return parsed;
  };
  return new GraphQLScalarType({
    name,
    description,
    // Stored values were checked when they were written.
    serialize: (value) => value,
    parseValue,
    parseLiteral: (node: ValueNode, variables) => parseValue(literal(node, variables)),
  });
};

const literal = (node: ValueNode, variables?: Record<string, unknown> | null) =>
  node.kind === Kind.INT || node.kind === Kind.FLOAT ? Number(node.value) : valueFromASTUntyped(node, variables);

const whenText = (read: (text: string) => unknown) => (value: unknown) =>
  typeof value === "string" ? read(value) : undefined;

const isPlainObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

export const UUID = form(
  "UUID",
  "A UUID (RFC 9562) in lower case. Input may be in upper case.",
  "Must be a UUID.",
  whenText((text) => (isUuid(text) ? text.toLowerCase() : undefined)),
);

export const DateTime = form(
  "DateTime",
  "A date and time in RFC 3339 form, in UTC with milliseconds. Input may have any offset.",
  "Must be a date and time in RFC 3339 form.",
  whenText(utcMoment),
);

export const EmailAddress = form(
  "EmailAddress",
  "An email address, `local@domain`.",
  "Must be an email address.",
  whenText((text) => text),
);

export const Url = form(
  "URL",
  "An http or https URL, or a path on this server.",
  "Must be a URL.",
  whenText((text) => text),
);

export const JSONObject = form("JSONObject", "A JSON object with any fields.", "Must be an object.", (value) =>
  isPlainObject(value) ? value : undefined,
);

export const BigInt = form(
  "BigInt",
  "A whole number between -9007199254740991 and 9007199254740991 (53 bits), written as a JSON number.",
  "Must be a whole number between -9007199254740991 and 9007199254740991.",
  (value) => (Number.isSafeInteger(value) ? value : undefined),
);
