import { type GraphQLInputType, isEnumType, isInputObjectType, isListType, isNonNullType } from "graphql";
import { scopesOf } from "../../domain/authorization/authorization.js";
import { entryKeyOf } from "../../graphql/engine/access.js";
import { fieldsOf } from "../../graphql/engine/variables.js";
import type { Parameter } from "./bind.js";
import type { Field, Shape } from "./shapes.js";
import type { Endpoint } from "./respond.js";
import { snakeCase } from "./spelling.js";

type Json = Record<string, unknown>;

const scalars: Record<string, Json> = {
  UUID: { type: "string", format: "uuid" },
  DateTime: { type: "string", format: "date-time" },
  EmailAddress: { type: "string", format: "email" },
  URL: { type: "string", format: "uri-reference" },
  Boolean: { type: "boolean" },
  Int: { type: "integer", format: "int32" },
  BigInt: { type: "integer", format: "int64" },
  Float: { type: "number" },
  JSONObject: { type: "object", additionalProperties: true },
};
const scalar = (name: string): Json => scalars[name] ?? { type: "string" };

const failure = {
  description: "The request failed.",
  content: { "application/json": { schema: { $ref: "#/components/schemas/Failure" } } },
};

const failureSchema = {
  type: "object",
  required: ["message"],
  properties: {
    message: { type: "string" },
    detail: { type: "string" },
    validations: {
      type: "array",
      items: {
        type: "object",
        required: ["field", "detail"],
        properties: { field: { type: "string" }, detail: { type: "string" } },
      },
    },
  },
};

export interface DescribedArea {
  name: string;
  endpoints: readonly Endpoint[];
}

/** The OpenAPI 3.1 description of the rows, derived from the operations that they run. */
export function openApiOf(areas: readonly DescribedArea[], version: string, accessUrl: string): Json {
  const paths: Record<string, Json> = {};
  for (const { name, endpoints } of areas) {
    for (const endpoint of endpoints) {
      const [method, path] = endpoint.row;
      const place = (paths[path.replace(/:(\w+)/g, "{$1}")] ??= {});
      place[method.toLowerCase()] = operationOf(name, endpoint);
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Steward", version, description: "Administration API of a remote-development workspace platform." },
    servers: [{ url: accessUrl }],
    tags: areas.map(({ name }) => ({ name })),
    paths,
    components: {
      schemas: { Failure: failureSchema },
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "header",
          name: "Service-Session-Token",
          description: "A session token from `POST /api/v2/users/login`, or an API key.",
        },
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A session token, an API key, or an OAuth2 access token, sent as `Authorization: Bearer`.",
        },
      },
    },
  };
}

function operationOf(tag: string, endpoint: Endpoint): Json {
  const { row, operation, binding, result } = endpoint;
  const [, , name, status, options] = row;
  const { description, needs } = operation;
  const parameters = binding.parameters.filter((each) => each.in !== "body").map(parameterOf);
  const body = propertiesOf(binding.parameters.filter((each) => each.in === "body"));
  return {
    operationId: name,
    tags: [tag],
    ...(description && { description }),
    ...(options?.successor && { deprecated: true }),
    security: operation.open ? [] : [{ session: [] }, { bearer: scopesOf(needs) }],
    ...(parameters.length > 0 && { parameters }),
    ...(binding.readsBody && { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: {
      [status]: successOf(endpoint),
      ...(result.isUnmodified && { 304: { description: "Nothing changed." } }),
      default: failure,
    },
  };
}

function successOf({ row, result: { body: found, events } }: Endpoint): Json {
  const { redirects, oneElementArray, stream } = row[4] ?? {};
  if (events.size > 0) {
    const [, item] = [...events].find(([type]) => !stream?.events?.[type])!;
    const items = schemaOf(item);
    return {
      description:
        "A stream of items: WebSocket text frames after an upgrade, server-sent events, or lines of JSON (NDJSON).",
      content: { "application/x-ndjson": { schema: items }, "text/event-stream": { schema: items } },
    };
  }
  if (!found) return { description: "The request succeeded. The response has no body." };
  const content = schemaOf(found.shape);
  if (redirects) return { description: "A redirect.", headers: { Location: { schema: content } } };
  const body = oneElementArray ? { type: "array", items: content, minItems: 1, maxItems: 1 } : content;
  return { description: "The request succeeded.", content: { "application/json": { schema: body } } };
}

function schemaOf(shape: Shape): Json {
  switch (shape.kind) {
    case "enum":
      return { type: "string", enum: [...shape.values.values()] };
    case "list":
      return { type: "array", items: schemaOf(shape.item) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(shape.item) };
    case "object":
      return objectSchema(shape.fields);
    default:
      return scalar(shape.scalar);
  }
}

function objectSchema(fields: readonly Field[]): Json {
  const required = fields.filter(({ sure }) => sure).map(({ name }) => name);
  return {
    type: "object",
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries(fields.map(({ name, shape }) => [name, schemaOf(shape)])),
  };
}

const parameterOf = ({ in: place, name, type, description }: Parameter): Json => ({
  name,
  in: place,
  ...(place === "path" && { required: true }),
  ...(place === "query" && { required: isNonNullType(type), explode: false }),
  schema: inputSchema(type),
  description,
});

/** The schema of an input on the wire. Input types do not contain themselves. */
function inputSchema(type: GraphQLInputType): Json {
  if (isNonNullType(type)) return inputSchema(type.ofType);
  if (isListType(type)) {
    const key = entryKeyOf(type.ofType);
    if (!key) return { type: "array", items: inputSchema(type.ofType) };
    const rest = fieldsOf(type.ofType).filter((field) => field.name !== key);
    return {
      type: "object",
      additionalProperties: rest.length === 1 ? inputSchema(rest[0]!.type) : propertiesOf(rest),
    };
  }
  if (isEnumType(type)) return { type: "string", enum: type.getValues().map(({ value }) => String(value)) };
  return isInputObjectType(type) ? propertiesOf(fieldsOf(type)) : scalar(type.name);
}

const propertiesOf = (fields: ReadonlyArray<Pick<Parameter, "name" | "type" | "description">>): Json => ({
  type: "object",
  properties: Object.fromEntries(
    fields.map(({ name, type, description }) => [snakeCase(name), { ...inputSchema(type), description }]),
  ),
});
