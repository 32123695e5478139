// The contract as data: every operation with its status and the shapes of its response and request bodies.
import { readFileSync } from "node:fs";
import { Ajv, type ValidateFunction } from "ajv";
import formats from "ajv-formats";
import { areas } from "../../src/rest/index.js";

export interface JsonSchema {
  type?: string;
  properties?: Record<string, JsonSchema>;
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  required?: string[];
  nullable?: boolean;
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

/** Request bodies that the contract's data omits. */
const requests: Record<string, JsonSchema> = {
  "PUT /api/v2/notifications/inbox/{id}/read-status": { properties: { is_read: { type: "boolean" } } },
  "POST /api/v2/external-auth/{externalauth}/device": { properties: { device_code: { type: "string" } } },
};

/** Operations that respond 304 without a body when nothing changes. */
export const modifying = new Set([
  "PUT /api/v2/prebuilds/settings",
  "PUT /api/v2/notifications/settings",
  "PUT /api/v2/notifications/templates/{notification_template}/method",
]);

const resolved = (schema: JsonSchema | undefined) =>
  schema?.$ref ? definitions[schema.$ref.split("/").at(-1)!] : schema;

const nameOf = ({ method, path }: ContractOperation) => `${method} ${path}`;

export const contract = new Map(
  operations.map((operation) => [
    nameOf(operation),
    {
      ...operation,
      request: resolved(operation.request ?? requests[nameOf(operation)]),
      showsBody: operation.request !== undefined,
    },
  ]),
);

/** The mounted rows, spelled as in the contract. */
export const mounted = areas.flatMap(({ rows }) =>
  rows.map(([method, path, , status]) => ({ name: `${method} ${path.replace(/:(\w+)/g, "{$1}")}`, status })),
);

/** Fields of responses beyond the contract, as specified by the area. */
const additions: Record<string, Record<string, JsonSchema>> = {
  "POST /api/v2/workspaceproxies": { proxy_token: { type: "string" } },
  "PATCH /api/v2/workspaceproxies/{workspaceproxy}": { proxy_token: { type: "string" } },
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

/** Returns the schema with unknown fields disallowed at every level, and null as well: responses omit such fields. */
function closed(schema: JsonSchema): JsonSchema {
  return {
    ...schema,
    nullable: undefined,
    ...(schema.items && { items: closed(schema.items) }),
    ...(typeof schema.additionalProperties === "object" && {
      additionalProperties: closed(schema.additionalProperties),
    }),
    ...(schema.properties && {
      properties: Object.fromEntries(Object.entries(schema.properties).map(([key, value]) => [key, closed(value)])),
      additionalProperties: false,
    }),
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
    Object.entries(properties).map(([key, { type }]) => [key, type === "string" ? { not: "text" } : "text"]),
  );
}
