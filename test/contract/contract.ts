// The contract as data: every operation with its status and the shapes of its response and request bodies.
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import { expect } from "chai";
import { areas, describedProtocols } from "../support/catalog.js";
import type { Answer } from "../support/world.js";

export interface JsonSchema {
  type?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  required?: string[];
  nullable?: boolean;
  anyOf?: JsonSchema[];
  $ref?: string;
}

export interface ContractOperation {
  method: string;
  path: string;
  status: number;
  open?: boolean;
  /** Schema of the response body; operations without one respond without a body. */
  schema?: JsonSchema;
  /** Schema of the request body; operations without one read no body. */
  request?: JsonSchema;
}

const { definitions, operations } = JSON.parse(readFileSync(new URL("./contract.json", import.meta.url), "utf8")) as {
  definitions: Record<string, JsonSchema>;
  operations: ContractOperation[];
};

const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { type: "string" }]));
const numbers = (...names: string[]) => Object.fromEntries(names.map((name) => [name, { type: "integer" }]));

const lists = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { type: "array", items: { type: "string" } }]));

/** The credentials of an OAuth2 application, which every request of the protocol may have. */
const client = texts("client_id", "client_secret");

/** Request bodies that the contract's data omits. */
const requests: Record<string, JsonSchema> = {
  "POST /oauth2/tokens": {
    properties: {
      ...client,
      ...texts("grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "device_code", "scope"),
      resource: { type: "array", items: { type: "string" } },
    },
  },
  "POST /oauth2/revoke": { properties: { ...client, ...texts("token", "token_type_hint") } },
  "PUT /api/v2/notifications/inbox/{id}/read-status": { properties: { is_read: { type: "boolean" } } },
  "PUT /api/v2/notifications/templates/{notification_template}/method": { properties: { method: { type: "string" } } },
  "POST /api/v2/organizations/{organization}/provisionerkeys": {
    properties: { name: { type: "string" }, tags: { type: "object" } },
  },
  "POST /api/v2/external-auth/{externalauth}/device": { properties: { device_code: { type: "string" } } },
};

/** Fields of request bodies beyond the contract, as specified by their RFC or area. */
const requestAdditions: Record<string, Record<string, JsonSchema>> = {
  "POST /api/v2/users/login": {
    ...texts("one_time_code", "passkey", "device_token"),
    adds_factor: { type: "boolean" },
  },
  "POST /oauth2/register": texts("application_type"),
  "PUT /oauth2/clients/{client_id}": texts("application_type", "client_secret"),
};

/** Operations that respond 304 without a body when nothing changes. */
export const modifying = new Set([
  "PUT /api/v2/prebuilds/settings",
  "PUT /api/v2/notifications/settings",
  "PUT /api/v2/notifications/templates/{notification_template}/method",
]);

/** An array of objects of the contract, each with the role of an entry of an access list. */
const withRole = (name: string) => ({
  type: "array",
  items: { properties: { ...definitions[name]!.properties, role: { type: "string", enum: ["use", "admin"] } } },
});

/** Operations beyond the contract, as specified by their RFC or area. */
const beyond: ContractOperation[] = [
  {
    method: "GET",
    path: "/api/v2/audit/stream",
    status: 200,
    schema: { properties: { number: { type: "integer" }, event: { type: "object" } }, required: ["number", "event"] },
  },
  {
    method: "GET",
    path: "/api/v2/templates/{template}/acl",
    status: 200,
    schema: { properties: { users: withRole("User"), group: withRole("Group") }, required: ["users", "group"] },
  },
  ...["/api/v2", "/graphql", "/mcp"].map((resource) => ({
    method: "GET",
    path: `/.well-known/oauth-protected-resource${resource}`,
    status: 200,
    open: true,
    schema: { $ref: "#/components/schemas/OAuth2ProtectedResourceMetadata" },
  })),
  ...["Schemas", "Schemas/{urn}", "ResourceTypes", "ResourceTypes/{name}"].map((path) => ({
    method: "GET",
    path: `/scim/v2/${path}`,
    status: 200,
    open: true,
  })),
  {
    method: "POST",
    path: "/oauth2/introspect",
    status: 200,
    open: true,
    request: { properties: { ...client, ...texts("token", "token_type_hint") } },
    schema: {
      properties: {
        active: { type: "boolean" },
        ...texts("scope", "client_id", "username", "sub", "iss", "token_type"),
        ...numbers("iat", "exp"),
        aud: { type: "array", items: { type: "string" } },
      },
      required: ["active"],
    },
  },
  {
    method: "POST",
    path: "/oauth2/device_authorization",
    status: 200,
    open: true,
    request: { properties: { ...client, ...texts("scope"), resource: { type: "array", items: { type: "string" } } } },
    schema: {
      properties: {
        ...texts("device_code", "user_code", "verification_uri", "verification_uri_complete"),
        ...numbers("expires_in", "interval"),
      },
      required: ["device_code", "user_code", "verification_uri", "expires_in"],
    },
  },
];

const resolved = (schema: JsonSchema | undefined) =>
  schema?.$ref ? definitions[schema.$ref.split("/").at(-1)!] : schema;

const nameOf = ({ method, path }: ContractOperation) => `${method} ${path}`;

function requestOf(operation: ContractOperation): JsonSchema | undefined {
  const name = nameOf(operation);
  const known = resolved(operation.request ?? requests[name]);
  const added = requestAdditions[name];
  return added ? { ...known, properties: { ...known?.properties, ...added } } : known;
}

export const contract = new Map(
  [...operations, ...beyond].map((operation) => [
    nameOf(operation),
    {
      ...operation,
      request: requestOf(operation),
      showsBody: operation.request !== undefined,
    },
  ]),
);

const rowsOf = (of: typeof areas) =>
  of.flatMap(({ rows, dialect }) =>
    rows.map(([method, path, , status]) => ({ name: `${method} ${path.replace(/:(\w+)/g, "{$1}")}`, status, dialect })),
  );

/** The mounted rows, spelled as in the contract. */
export const mounted = rowsOf(areas);

/** Those of protocols with credentials and failures of their own. */
export const protocols = rowsOf(describedProtocols);

/** Fields of responses beyond the contract, as specified by the area. */
const additions: Record<string, Record<string, JsonSchema>> = {
  "POST /oauth2/tokens": { scope: { type: "string" } },
  "POST /oauth2/register": texts("application_type"),
  "GET /oauth2/clients/{client_id}": texts("application_type"),
  "PUT /oauth2/clients/{client_id}": texts("application_type"),
  "GET /.well-known/oauth-authorization-server": {
    ...texts("device_authorization_endpoint", "introspection_endpoint"),
    ...lists(
      "response_modes_supported",
      "revocation_endpoint_auth_methods_supported",
      "introspection_endpoint_auth_methods_supported",
    ),
    authorization_response_iss_parameter_supported: { type: "boolean" },
    client_id_metadata_document_supported: { type: "boolean" },
  },
  "POST /api/v2/workspaceproxies": {
    proxy: { $ref: "#/components/schemas/WorkspaceProxy" },
    proxy_token: { type: "string" },
  },
  "PATCH /api/v2/workspaceproxies/{workspaceproxy}": {
    proxy: { $ref: "#/components/schemas/WorkspaceProxy" },
    proxy_token: { type: "string" },
  },
  "PUT /api/v2/notifications/inbox/{id}/read-status": {
    notification: { $ref: "#/components/schemas/InboxNotification" },
    unread_count: { type: "integer" },
  },
  "GET /api/v2/external-auth": {
    links: { type: "array", items: { $ref: "#/components/schemas/ExternalAuthLink" } },
    providers: {
      type: "array",
      items: {
        properties: {
          ...Object.fromEntries(
            ["id", "type", "display_name", "display_icon"].map((name) => [name, { type: "string" }]),
          ),
          ...Object.fromEntries(
            ["device", "allow_refresh", "allow_validate", "supports_revocation"].map((name) => [
              name,
              { type: "boolean" },
            ]),
          ),
          code_challenge_methods_supported: { type: "array", items: { type: "string" } },
        },
      },
    },
  },
};

const ajv = new Ajv({ strict: false, allErrors: true });
formats.default(ajv);

/** Compiles a validator for responses of the operation that rejects fields unknown to the contract. */
export function responseValidator(name: string): ValidateFunction {
  const { schema } = contract.get(name)!;
  const known = schema?.$ref && additions[name] ? definitions[schema.$ref.split("/").at(-1)!]! : schema!;
  const whole = { ...known, ...(known.properties && { properties: { ...known.properties, ...additions[name] } }) };
  const schemas = Object.fromEntries(Object.entries(definitions).map(([key, value]) => [key, closed(value)]));
  return ajv.compile({ ...closed(whole), components: { schemas } });
}

/** Fields that are null where they have no value. All others that the contract calls nullable are left out then. */
const nulls = new Set(["current_state", "workspace_agent_health", "workspace_agent_lifecycle", "read_at"]);

/**
 * Returns the schema with unknown fields disallowed at every level, and null as well, which responses omit: except for the
 * fields that clients tell states by, which must be there.
 */
function closed(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    nullable: undefined,
    ...(schema.items && { items: closed(schema.items) }),
    ...(typeof schema.additionalProperties === "object" && {
      additionalProperties: closed(schema.additionalProperties),
    }),
    ...(schema.properties && closedProperties(schema.properties)),
  };
}

function closedProperties(properties: Record<string, JsonSchema>) {
  const sent = Object.keys(properties).filter((name) => properties[name]!.nullable && nulls.has(name));
  return {
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [
        name,
        sent.includes(name) ? { anyOf: [closed(value), { type: "null" }] } : closed(value),
      ]),
    ),
    ...(sent.length > 0 && { required: sent }),
    additionalProperties: false,
  };
}

/** Returns a body with a value of a wrong type in each leaf, and the paths of the fields at fault. */
export function wrongLeaves(schema: JsonSchema, path = ""): { value: unknown; fields: string[] } {
  if (schema.$ref) return wrongLeaves(definitions[schema.$ref.split("/").at(-1)!]!, path);
  const named = (name: string) => (path ? `${path}.${name}` : name);
  if (schema.items) {
    const { value, fields } = wrongLeaves(schema.items, `${path}[0]`);
    return { value: [value], fields };
  }
  if (typeof schema.additionalProperties === "object") {
    const { value, fields } = wrongLeaves(schema.additionalProperties, named("one"));
    return { value: { one: value }, fields };
  }
  if (schema.properties) {
    const parts = Object.entries(schema.properties).map(([key, each]) => [key, wrongLeaves(each, named(key))] as const);
    return {
      value: Object.fromEntries(parts.map(([key, { value }]) => [key, value])),
      fields: parts.flatMap(([, { fields }]) => fields),
    };
  }
  return { value: schema.type === "string" ? 5 : "5", fields: [path] };
}

/** Returns a body with a value of a wrong type in each field. */
export function wrongFields({ properties = {} }: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([key, { type }]) => [
      key,
      type === "string" || type === "array" ? { not: type } : "text",
    ]),
  );
}

/** The faults that a 400 reports: as `validations`, or in the description of an error of OAuth2. */
export function validationsOf({ body }: Answer): Array<{ field: string; detail: string }> {
  if (body.error_description === undefined) return body.validations ?? [];
  expect(body.error).to.match(/^invalid_(request|redirect_uri|client_metadata)$/);
  const [message, ...faults] = body.error_description.split(/(?<=\.) /) as string[];
  expect(message).to.match(
    /^(Validation failed|The redirect URIs are invalid|The metadata of the application has invalid values)\.$/,
  );
  return faults.map((fault) => {
    const [field, detail] = fault.split(": ") as [string, string];
    return { field, detail };
  });
}
