import { scopesOf } from "../../../domain/authorization/authorization.js";
import { license, version } from "../../../runtime/program-files.js";
import { redirects } from "../area.js";
import type { Endpoint } from "../endpoint.js";
import type { Field, ObjectShape, ResultShape, Shape } from "../shapes.js";
import { failureResponsesOf, failureSchemas, failuresOf, validationSchema } from "./failures.js";
import { bodyOf, parametersOf } from "./requests.js";
import { constant, contentOf, type Json, NamedSchemas, objectOf, onTheWire, scalar } from "./schemas.js";

/** An area with its rows, ready to serve requests. */
export interface DescribedArea {
  name: string;
  description: string;
  endpoints: readonly Endpoint[];
}

const introduction = `Administration API of a remote-development workspace platform.

Send a token with each request: as \`Service-Session-Token\`, or as \`Authorization: Bearer\`. \`POST /api/v2/users/login\`
returns one. Tokens may be restricted to scopes; an operation lists those that it requires.

Bodies are JSON objects. In requests, null is the same as absent, and unknown fields are ignored. In responses, what has
no value, which descriptions call null, is left out, unless its schema permits null. IDs are UUIDs unless an operation says otherwise; times are RFC 3339 in UTC. Failures have the schema
\`Failure\`, those of the OAuth2 protocol \`OAuth2Failure\`,
those of provisioning \`ProvisioningFailure\` and \`ScimFailure\`.

The same operations are available as GraphQL at \`/graphql\`.`;

const securitySchemes = {
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
  provisionerKey: {
    type: "apiKey",
    in: "header",
    name: "Service-Provisioner-Key",
    description: "The key of a provisioner daemon.",
  },
  registration: {
    type: "http",
    scheme: "bearer",
    description: "The registration access token of an OAuth2 client, sent as `Authorization: Bearer`.",
  },
  provisioning: {
    type: "apiKey",
    in: "header",
    name: "Authorizaiton",
    description:
      "The key of an identity provider, bare or after `Bearer`. The spelling of the header is that of the contract.",
  },
  provisioningBearer: {
    type: "http",
    scheme: "bearer",
    description: "The same key, for clients of SCIM 2.0: responses and failures are those of RFC 7644.",
  },
};

/** The schemes of the credentials that an operation takes. */
function securityOf({ route: { dialect }, operation, binding }: Endpoint): Array<keyof typeof securitySchemes> {
  if (binding.readsBearer) return ["registration"];
  if (dialect.surface === "scim") return operation.open ? [] : ["provisioning", "provisioningBearer"];
  return operation.open ? [] : ["session", "bearer"];
}

/** Of the description, what is the same for every deployment. */
export interface Contents {
  tags: Json[];
  paths: Record<string, Json>;
  components: Json;
}

/** Describes the rows, derived from the operations that they run, and other routes by their paths. */
export function contentsOf(areas: readonly DescribedArea[], others: Readonly<Record<string, Json>>): Contents {
  const schemas = new NamedSchemas();
  for (const [name, schema] of Object.entries(failureSchemas)) schemas.addNamed(name, schema);
  schemas.addNamed("Validation", validationSchema);
  const paths: Record<string, Json> = {};
  const endpoints = areas.flatMap((area) => area.endpoints);
  for (const area of areas) {
    for (const endpoint of area.endpoints) {
      const { method, path } = endpoint.route;
      const place = (paths[templateOf(path)] ??= {});
      place[method.toLowerCase()] = operationOf(titleOf(area), endpoint, schemas);
    }
  }
  return {
    tags: areas.map((area) => ({ name: titleOf(area), description: area.description })),
    paths: { ...paths, ...others },
    components: { schemas: schemas.all, responses: failureResponsesOf(endpoints), securitySchemes },
  };
}

/** The OpenAPI 3.1 description of a deployment. */
export const openApiOf = (contents: Contents, accessUrl: string): Json => ({
  openapi: "3.1.0",
  info: {
    title: "Steward",
    version,
    description: introduction,
    contact: { name: "The administrators of this deployment", url: accessUrl },
    license: { name: license, identifier: license },
  },
  servers: [{ url: accessUrl, description: "This deployment" }],
  ...contents,
});

/** `/groups/:group` → `/groups/{group}`. */
const templateOf = (path: string) => path.replace(/:(\w+)/g, "{$1}");

/** `connection-logs` → `Connection logs`, `oauth2/apps` → `OAuth2 apps`. */
const titleOf = ({ name }: DescribedArea) =>
  capitalize(
    name
      .replace(/[-/]/g, " ")
      .replace(/^oauth2\b/, "OAuth2")
      .replace(/^scim\b/, "SCIM"),
  );

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** `GetGroupAiBudget` → `Get group AI budget`. */
const summaryOf = (name: string) =>
  capitalize(name.replace(/(?!^)[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replace(/\bai\b/g, "AI"));

function operationOf(tag: string, endpoint: Endpoint, schemas: NamedSchemas): Json {
  const { route, operation, binding, result } = endpoint;
  const scopes = scopesOf(operation.needs);
  const parameters = parametersOf(endpoint, schemas);
  return {
    operationId: operation.name,
    ...textsOf(endpoint, scopes),
    tags: [tag],
    ...(route.options.successor && { deprecated: true }),
    security: securityOf(endpoint).map((scheme) => ({ [scheme]: [] })),
    // Scopes are part of `security` only where OAuth2 flows list them.
    ...(!operation.open && { "x-required-scopes": scopes }),
    ...(parameters.length > 0 && { parameters }),
    ...(binding.readsBody && { requestBody: bodyOf(endpoint, schemas) }),
    responses: {
      ...successesOf(endpoint, schemas),
      ...(result.isUnmodified && { 304: { description: "Nothing changed." } }),
      ...failuresOf(endpoint),
      ...((redirects(route) || route.isPage) && { default: page }),
    },
  };
}

const html: Json = { "text/html": { schema: { type: "string" } } };

const page: Json = {
  description:
    "The sign-in page or a failure, as a page, for browsers. Their session cookie is accepted as a credential.",
  content: html,
};

/**
 * The summary and the description of an operation: the first paragraph of its own description and the others, else its
 * name and the description of its root field.
 */
function textsOf({ route: { options }, operation }: Endpoint, scopes: readonly string[]): Json {
  const [summary = summaryOf(operation.name), ...own] = operation.definition.description?.value.split("\n\n") ?? [];
  const named = scopes.map((scope) => `\`${scope}\``).join(", ");
  const paragraphs = [
    ...(own.length > 0 ? own : [operation.description]),
    options.successor && `Deprecated: use \`${templateOf(options.successor)}\`.`,
    named && `Scopes: ${named}.`,
  ];
  return { summary, description: paragraphs.filter(Boolean).join("\n\n") };
}

/** The successful responses by status. */
function successesOf(endpoint: Endpoint, schemas: NamedSchemas): Json {
  const { status, options, dialect } = endpoint.route;
  const documents = Object.entries(options.returns ?? {}).map(([each, { name, schema }]) => {
    const content = contentOf(dialect, { schema: schemas.addNamed(name, schema) });
    return [each, { description: "The request succeeded.", content }] as const;
  });
  return { [status]: successOf(endpoint, schemas), ...Object.fromEntries(documents) };
}

function successOf({ route, result }: Endpoint, schemas: NamedSchemas): Json {
  const { status, dialect, isPage } = route;
  const { oneElementArray, stream } = route.options;
  if (isPage)
    return status === 200
      ? { description: "A page.", content: html }
      : {
          description: "A redirect.",
          headers: { Location: { description: "Where to go.", schema: { type: "string" } } },
        };
  if (result.events.size > 0) return streamOf(result.events, stream?.events ?? {}, schemas);
  if (!result.body) return { description: "The request succeeded. The response has no body." };
  const content = schemaOf(result.body.shape, schemas);
  if (redirects(route))
    return { description: "A redirect.", headers: { Location: { description: "Where to go.", schema: content } } };
  const body = oneElementArray ? { type: "array", items: content, minItems: 1, maxItems: 1 } : content;
  return {
    description: "The request succeeded.",
    ...(result.headers.length > 0 && { headers: headersOf(result) }),
    content: contentOf(dialect, { schema: body }),
  };
}

const headersOf = ({ headers }: ResultShape): Json =>
  Object.fromEntries(
    headers.map(({ name, scalar: type, description }) => [name, { description, schema: scalar(type) }]),
  );

/** A stream of items; `extras` names the events that are sent as server-sent events only. */
function streamOf(
  events: ReadonlyMap<string, Shape>,
  extras: Readonly<Record<string, string>>,
  schemas: NamedSchemas,
): Json {
  const all = [...events].map(([type, shape]) => ({ name: extras[type], schema: schemaOf(shape, schemas) }));
  const [item] = all.filter(({ name }) => name === undefined).map(({ schema }) => schema);
  const named = all.flatMap(({ name }) => (name === undefined ? [] : `\`${name}\``));
  const more = named.length > 0 ? ` Server-sent events also come with the names ${named.join(" and ")}.` : "";
  return {
    description: `A stream of items: text frames after an upgrade to WebSocket, server-sent events, or lines of JSON, of which blank ones keep an idle stream alive.${more}`,
    content: {
      "application/x-ndjson": { schema: item },
      "text/event-stream": { schema: all.length === 1 ? item : { anyOf: all.map(({ schema }) => schema) } },
    },
  };
}

/** The schema of what is sent in a shape. What has no value is left out, but for fields that say null. */
export function schemaOf(shape: Shape, schemas: NamedSchemas): Json {
  switch (shape.kind) {
    case "enum":
      return schemas.enumeration(shape.type);
    case "list":
      return { type: "array", items: schemaOf(shape.item, schemas) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(shape.item, schemas) };
    case "object":
      return objectSchema(shape, schemas);
    case "nullableId":
      return schemas.addNamed("NullableUuid", {
        ...objectOf([
          ["uuid", { ...scalar("UUID"), description: "The ID, or the zero UUID." }, true],
          ["valid", { ...scalar("Boolean"), description: "Whether there is an ID." }, true],
        ]),
        description: "An ID that may be missing: then `valid` is false, and `uuid` the zero UUID.",
      });
    default:
      return scalar(shape.scalar);
  }
}

function objectSchema({ fields, label }: ObjectShape, schemas: NamedSchemas): Json {
  const schema = objectOf(fields.map((field) => [field.name, fieldSchema(field, schemas), field.isSure]));
  if (!label) return schema;
  return schemas.addNamed(label.name, { ...schema, description: label.description });
}

const fieldSchema = (
  { shape, otherwise, isNullSent, description, isDeprecated }: Field,
  schemas: NamedSchemas,
): Json => ({
  ...(shape.kind === "enum" && otherwise !== undefined
    ? { anyOf: [schemaOf(shape, schemas), constant(otherwise)] }
    : isNullSent
      ? { anyOf: [schemaOf(shape, schemas), { type: "null" }] }
      : schemaOf(shape, schemas)),
  ...(description !== undefined && { description: onTheWire(description) }),
  ...(isDeprecated && { deprecated: true }),
});
