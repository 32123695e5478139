import {
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  OperationTypeNode,
} from "graphql";
import { scopesOf } from "../../domain/authorization/authorization.js";
import { entryKeyOf } from "../../graphql/engine/variables.js";
import { answerOf, eventShapes, type Field, type Shape, unmodifiedBy } from "./render.js";
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
  description: "What went wrong.",
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

/** The OpenAPI 3.1 description of the rows, read off the rows themselves: what they run is what it says. */
export function openApiOf(
  schema: GraphQLSchema,
  areas: readonly DescribedArea[],
  version: string,
  accessUrl: string,
): Json {
  const paths: Record<string, Json> = {};
  for (const { name, endpoints } of areas) {
    for (const endpoint of endpoints) {
      const [method, path] = endpoint.row;
      const place = (paths[path.replace(/:(\w+)/g, "{$1}")] ??= {});
      place[method.toLowerCase()] = operationOf(schema, name, endpoint);
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
          description: "The same tokens, and OAuth2 access tokens, as `Authorization: Bearer`.",
        },
      },
    },
  };
}

function operationOf(schema: GraphQLSchema, tag: string, { row, operation, binding }: Endpoint): Json {
  const [, , name, status, options] = row;
  const { description, needs } = operation;
  const parameters = binding.sources.flatMap((source) => parametersOf(row, source));
  const body = bodyOf(binding.sources, row[1]);
  return {
    operationId: name,
    tags: [tag],
    ...(description && { description }),
    ...(options?.successor && { deprecated: true }),
    security: operation.open ? [] : [{ session: [] }, { bearer: scopesOf(needs) }],
    ...(parameters.length > 0 && { parameters }),
    ...(body &&
      binding.readsBody && { requestBody: { required: true, content: { "application/json": { schema: body } } } }),
    responses: {
      [status]: successOf(schema, { row, operation }),
      ...(unmodifiedBy(schema, operation) && { 304: { description: "It was so already." } }),
      default: failure,
    },
  };
}

function successOf(schema: GraphQLSchema, { row, operation }: Pick<Endpoint, "row" | "operation">): Json {
  if (operation.kind === OperationTypeNode.SUBSCRIPTION) {
    const stream = row[4]?.stream;
    const shapes = [...eventShapes(schema, operation, stream?.id ? [stream.id] : [])];
    const item = shapes.find(([type]) => !stream?.events?.[type]);
    const items = schemaOf(item![1]);
    return {
      description: "A stream of these: WebSocket frames after an upgrade, server-sent events, or JSON lines.",
      content: { "application/x-ndjson": { schema: items }, "text/event-stream": { schema: items } },
    };
  }
  const { message, under, redirects, withheld } = row[4] ?? {};
  const answer = answerOf(schema, operation, withheld);
  if (!answer && !message) return { description: "Done." };
  const content = answer ? schemaOf(answer.shape) : { type: "object", properties: {} };
  if (redirects) return { description: "Where to go on to.", headers: { Location: { schema: content } } };
  const schemaOfAnswer: Json = under
    ? { type: "object", required: [under], properties: { [under]: content } }
    : content;
  if (message) Object.assign(schemaOfAnswer.properties as Json, { message: { type: "string" } });
  const body = row[4]?.oneElementArray
    ? { type: "array", items: schemaOfAnswer, minItems: 1, maxItems: 1 }
    : schemaOfAnswer;
  return { description: "The answer.", content: { "application/json": { schema: body } } };
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

type Source = Endpoint["binding"]["sources"][number];

function parametersOf([, path, , , options]: Endpoint["row"], { name, from, type }: Source): Json[] {
  const header = Object.entries(options?.headers ?? {}).find(([, variable]) => variable === name)?.[0];
  if (from === "path") return [{ name, in: "path", required: true, schema: inputSchema(type) }];
  if (from === "header") return [{ name: header, in: "header", schema: inputSchema(type) }];
  if (from === "query")
    return [{ name, in: "query", required: isNonNullType(type), schema: inputSchema(type), explode: false }];
  if (from !== "input") return [];
  const fields = fieldsOf(type);
  return [...path.matchAll(/:(\w+)/g)].flatMap(([, parameter]) => {
    const field = fields.find((each) => snakeCase(each.name) === parameter);
    return field
      ? [
          {
            name: parameter,
            in: "path",
            required: true,
            schema: inputSchema(field.type),
            description: field.description,
          },
        ]
      : [];
  });
}

/** The body: the input object less what the path says, or the variables that come from it. */
function bodyOf(sources: readonly Source[], path: string): Json | undefined {
  const inPath = new Set([...path.matchAll(/:(\w+)/g)].map((match) => match[1]));
  const properties = sources.flatMap(({ name, from, type }) => {
    if (from === "body") return [[name, inputSchema(type)] as const];
    if (from !== "input") return [];
    return fieldsOf(type)
      .filter((field) => !inPath.has(snakeCase(field.name)))
      .map((field) => [snakeCase(field.name), { ...inputSchema(field.type), description: field.description }] as const);
  });
  return properties.length > 0 ? { type: "object", properties: Object.fromEntries(properties) } : undefined;
}

const fieldsOf = (type: GraphQLInputType) =>
  Object.values(((isNonNullType(type) ? type.ofType : type) as GraphQLInputObjectType).getFields());

/** An input as it is written on the wire. Inputs that contain themselves do not occur. */
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

const propertiesOf = (fields: ReturnType<typeof fieldsOf>): Json => ({
  type: "object",
  properties: Object.fromEntries(
    fields.map((field) => [snakeCase(field.name), { ...inputSchema(field.type), description: field.description }]),
  ),
});
