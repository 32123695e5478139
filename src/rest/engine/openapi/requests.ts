import {
  getNamedType,
  getNullableType,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from "graphql";
import { entryKeyOf } from "../../../graphql/engine/access.js";
import { fieldsOf } from "../../../graphql/engine/variables.js";
import { keywordsOf } from "../../../domain/kernel/values.js";
import { fieldOnTheWire, type Given, type Parameter } from "../bind.js";
import type { Endpoint } from "../endpoint.js";
import { constant, contentOf, type Json, type NamedSchemas, objectOf, onTheWire, scalar } from "./schemas.js";

/** The parameters of an operation outside of its body. */
export function parametersOf({ route, binding }: Endpoint, schemas: NamedSchemas): Json[] {
  const resume = route.options.stream?.resume;
  const declared = binding.parameters
    .filter((each) => each.in !== "body")
    .map((each) => parameterOf(each, schemas, route.isPage));
  const inHeader = resume === undefined ? [] : [lastEventId(resume)];
  return [...declared, ...inHeader, ...(route.options.stream ? [heartbeat] : [])];
}

const parameterOf = (parameter: Parameter, schemas: NamedSchemas, isRepeated: boolean): Json => ({
  name: parameter.in === "header" ? headerCase(parameter.name) : parameter.name,
  in: parameter.in,
  required: parameter.in === "path" || parameter.isRequired,
  ...(isList(parameter.type) && { style: "form", explode: isRepeated }),
  // A path always has a value.
  schema: givenSchema(parameter.in === "path" ? { ...parameter, otherwise: undefined } : parameter, schemas),
  description: onTheWire(parameter.description),
});

const isList = (type: GraphQLInputType): boolean => isListType(isNonNullType(type) ? type.ofType : type);

/** `idempotency-key` → `Idempotency-Key`. */
const headerCase = (name: string) => name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());

const heartbeat: Json = {
  name: "heartbeat",
  in: "query",
  required: false,
  schema: { type: "string", enum: ["on", "off"], default: "on" },
  description:
    "`off` leaves out the blank lines that keep an idle stream of JSON lines alive. Without effect on other formats.",
};

const lastEventId = (replaced: string): Json => ({
  name: "Last-Event-ID",
  in: "header",
  required: false,
  schema: { type: "string" },
  description: `The id of the last event received, which browsers send when they reconnect. Takes precedence over \`${replaced}\`.`,
});

/** The body that an operation reads. */
export function bodyOf({ route, operation, binding }: Endpoint, schemas: NamedSchemas): Json {
  const { dialect, options } = route;
  const fields = binding.parameters.filter((each) => each.in === "body");
  const { name, variables } = operation;
  const description = variables.find((variable) => variable.name === "input")?.description;
  const schema = schemas.named(`${name}Request`, options.takes ?? { ...propertiesOf(fields, schemas), description });
  const isRequired = !options.bodyNotShown || fields.some((field) => field.isRequired);
  return { required: isRequired, content: contentOf(dialect, { schema, example: options.example }) };
}

const propertiesOf = (fields: readonly Given[], schemas: NamedSchemas): Json =>
  objectOf(
    fields.map((field) => [
      field.name,
      { ...givenSchema(field, schemas), description: onTheWire(field.description) },
      field.isRequired,
    ]),
  );

const givenSchema = (given: Given, schemas: NamedSchemas): Json => ({
  ...(given.isClearable
    ? { anyOf: [inputSchema(given.type, schemas), constant(""), { type: "null" }] }
    : inputSchema(given.type, schemas)),
  ...limitsOf(given),
  ...(given.otherwise !== undefined && { default: given.otherwise }),
});

/** The schema of an input on the wire. Input types do not contain themselves. */
function inputSchema(type: GraphQLInputType, schemas: NamedSchemas): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType, schemas);
  if (isListType(type)) {
    const key = entryKeyOf(type);
    return key ? mapSchema(type, key, schemas) : { type: "array", items: inputSchema(type.ofType, schemas) };
  }
  if (isEnumType(type)) return schemas.enumeration(type);
  return isInputObjectType(type) ? inputObject(type, fieldsOf(type), schemas) : scalar(type.name);
}

/** `[{key, …}]` on the wire: `{"<key>": {…}}`, or `{"<key>": value}` for entries of one more field. */
function mapSchema(type: GraphQLInputType, keyName: string, schemas: NamedSchemas): Json {
  const key = fieldsOf(type).find((field) => field.name === keyName)!;
  const rest = fieldsOf(type).filter((field) => field !== key);
  const entry =
    rest.length === 1 ? givenSchema(fieldOnTheWire(rest[0]!), schemas) : inputObject(getNamedType(type), rest, schemas);
  return { type: "object", propertyNames: limitsOf(fieldOnTheWire(key)), additionalProperties: entry };
}

const inputObject = (
  { name, description }: GraphQLNamedType,
  fields: readonly GraphQLInputField[],
  schemas: NamedSchemas,
): Json => schemas.named(name, { ...propertiesOf(fields.map(fieldOnTheWire), schemas), description });

type Limited = Pick<Given, "type" | "value" | "description">;

/**
 * The limits of a value; of those that are not declared as values yet, the limits that descriptions state in fixed phrases:
 * `at most 64 characters`, `1 to 255 bytes`, `at most 16 KiB`; for lists and objects, `at most 200`. JSON Schema counts characters: a limit in
 * bytes is passed on as it is, because no text has more characters than bytes.
 */
function limitsOf({ type, value, description = "" }: Limited): Json {
  if (value) return keywordsOf(value);
  if (isListType(getNullableType(type))) return listLimits(type, description);
  if (getNamedType(type).name === "JSONObject") return mostOf("maxProperties", description);
  return getNamedType(type).name === "String" ? lengths(description) : {};
}

const listLimits = (type: GraphQLInputType, description: string): Json =>
  mostOf(entryKeyOf(type) === undefined ? "maxItems" : "maxProperties", description);

function mostOf(keyword: "maxItems" | "maxProperties", description: string): Json {
  const most = /\bat most (\d+)/i.exec(description)?.[1];
  return most === undefined ? {} : { [keyword]: Number(most) };
}

const units: Record<string, number> = { KiB: 1024 };

function lengths(description: string): Json {
  const [, least, most, unit] =
    /\b(?:(\d+) to|at most) (\d+) (characters|bytes|letters|KiB)\b/i.exec(description) ?? [];
  if (most === undefined) return {};
  return { ...(least && { minLength: Number(least) }), maxLength: Number(most) * (units[unit!] ?? 1) };
}
