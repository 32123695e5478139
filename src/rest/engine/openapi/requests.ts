import {
  getNamedType,
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
import { entryOf, keywordsOf } from "../../../domain/kernel/values.js";
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
  const schema = schemas.addNamed(`${name}Request`, options.takes ?? { ...propertiesOf(fields, schemas), description });
  const isRequired = !options.isBodyHidden || fields.some((field) => field.isRequired);
  return { required: isRequired, content: contentOf(dialect, { schema, example: options.example }) };
}

/** An object with these inputs. */
export const propertiesOf = (fields: readonly Given[], schemas: NamedSchemas): Json =>
  objectOf(
    fields.map((field) => [
      field.name,
      { ...givenSchema(field, schemas), description: onTheWire(field.description) },
      field.isRequired,
    ]),
  );

const givenSchema = (given: Given, schemas: NamedSchemas): Json => ({
  ...(given.isClearable
    ? { anyOf: [inputSchema(given, schemas), constant(""), { type: "null" }] }
    : inputSchema(given, schemas)),
  ...limitsOf(given),
  ...(given.otherwise !== undefined && { default: given.otherwise }),
});

/** The schema of an input on the wire. Input types do not contain themselves. */
function inputSchema({ type, value }: Pick<Given, "type" | "value">, schemas: NamedSchemas): Json {
  if (isNonNullType(type)) return inputSchema({ type: type.ofType, value }, schemas);
  if (isListType(type)) {
    const key = entryKeyOf(type);
    if (key) return mapSchema(type, key, schemas);
    const entry = { type: type.ofType, value: value && entryOf(value) };
    return { type: "array", items: { ...inputSchema(entry, schemas), ...limitsOf(entry) } };
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
): Json => schemas.addNamed(name, { ...propertiesOf(fields.map(fieldOnTheWire), schemas), description });

/** The limits of a value. A list of entries with a key is an object on the wire, and its entries are properties. */
function limitsOf({ type, value }: Pick<Given, "type" | "value">): Json {
  if (!value) return {};
  const { maxItems, ...limits } = keywordsOf(value);
  const keyword = entryKeyOf(type) === undefined ? "maxItems" : "maxProperties";
  return { ...limits, ...(maxItems !== undefined && { [keyword]: maxItems }) };
}
