import { GraphQLError, GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from "graphql";
import { isObject } from "../../runtime/json.js";
import { isUuid, utcMoment } from "../../runtime/text.js";

/** Builds a scalar. `standard` is the RFC that specifies it, with the section if it is a part of one. */
const form = (
  name: string,
  standard: string,
  description: string,
  rule: string,
  parse: (value: unknown) => unknown,
) => {
  const parseValue = (value: unknown) => {
    const parsed = parse(value);
    if (parsed === undefined) throw new GraphQLError(rule);
    return parsed;
  };
  return new GraphQLScalarType({
    name,
    description,
    specifiedByURL: `https://www.rfc-editor.org/rfc/${standard}`,
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

export const UUID = form(
  "UUID",
  "rfc9562",
  "A UUID (RFC 9562) in lower case. Input may be in upper case.",
  "Must be a UUID.",
  whenText((text) => (isUuid(text) ? text.toLowerCase() : undefined)),
);

export const DateTime = form(
  "DateTime",
  "rfc3339",
  "A date and time in RFC 3339 form, in UTC with milliseconds. Input may have any offset.",
  "Must be a date and time in RFC 3339 form.",
  whenText(utcMoment),
);

export const EmailAddress = form(
  "EmailAddress",
  "rfc6531",
  "An email address, `local@domain`.",
  "Must be an email address.",
  whenText((text) => text),
);

export const Url = form(
  "URL",
  "rfc3986",
  "An http or https URL, or a path on this server.",
  "Must be a URL.",
  whenText((text) => text),
);

export const JSONObject = form(
  "JSONObject",
  "rfc8259#section-4",
  "A JSON object with any fields.",
  "Must be an object.",
  (value) => (isObject(value) ? value : undefined),
);

export const BigInt = form(
  "BigInt",
  "rfc7493#section-2.2",
  "A whole number between -9007199254740991 and 9007199254740991 (53 bits), written as a JSON number.",
  "Must be a whole number between -9007199254740991 and 9007199254740991.",
  (value) => (Number.isSafeInteger(value) ? value : undefined),
);
