// The entries of `/openapi.json` for the routes that are not rows: they run no GraphQL operation.
import { documentSchemaPath } from "../domain/templates/template-documents.js";
import type { Json } from "./engine/openapi/schemas.js";

const failure = (name: string): Json => ({ $ref: `#/components/responses/${name}` });

const always = {
  429: failure("TooManyRequests"),
  500: failure("InternalServerError"),
  503: failure("ServiceUnavailable"),
};

const inQuery = (name: string, description: string, schema: Json, required = false): Json => ({
  name,
  in: "query",
  required,
  description,
  schema,
});

const texts = (maxItems: number): Json => ({ type: "array", items: { type: "string" }, maxItems });

const serve: Json = {
  operationId: "ServeProvisionerDaemon",
  summary: "Serve a provisioner daemon",
  description: `Upgrades the connection to a WebSocket with the sub-protocol \`graphql-transport-ws\`, on which a daemon
receives jobs and reports on them.

Takes the key of a daemon, in \`Service-Provisioner-Key\` or as a bearer token, or the token of a session, but not both. The
tags of a daemon with a key are those of the key.

Scopes of sessions: \`provisioner_daemon:create\`.`,
  tags: ["Provisioners"],
  security: [{ provisionerKey: [] }, { session: [] }, { bearer: [] }],
  "x-required-scopes": ["provisioner_daemon:create"],
  parameters: [
    {
      name: "organization",
      in: "path",
      required: true,
      description: "The organization: ID, name, or `default`.",
      schema: { type: "string" },
    },
    inQuery("provisioner", "Types of jobs that the daemon does.", { ...texts(10), minItems: 1 }, true),
    inQuery("name", "Name of the daemon, whose row is used again. The default is a new name.", {
      type: "string",
      maxLength: 64,
    }),
    inQuery("tag", "Tags of a daemon without a key, each `key=value`.", texts(20)),
    inQuery("version", "Version of the protocol.", { type: "string", default: "1.0" }),
  ],
  responses: {
    101: { description: "The protocol is switched." },
    400: failure("BadRequest"),
    401: failure("Unauthorized"),
    403: failure("Forbidden"),
    404: failure("NotFound"),
    409: failure("Conflict"),
    426: {
      description: "The request does not ask for an upgrade to a WebSocket.",
      headers: { Upgrade: { description: "The protocol to upgrade to.", schema: { const: "websocket" } } },
      content: { "application/json": { schema: { $ref: "#/components/schemas/Failure" } } },
    },
    ...always,
  },
};

const ofMachine = (name: string, description: string, values: string[]): Json => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string", enum: values },
});

const initScript: Json = {
  operationId: "GetInitScript",
  summary: "Get init script",
  description: `A script that fetches the program of external agents from this server, checks its SHA-256, and runs it with
Node 22 or newer, with the token in the environment variable \`STEWARD_AGENT_TOKEN\`. It has no secret.`,
  tags: ["Agents"],
  security: [],
  parameters: [
    ofMachine("os", "Operating system of the machine.", ["linux", "darwin", "windows"]),
    ofMachine("arch", "Architecture of the machine.", ["amd64", "arm64", "armv7"]),
  ],
  responses: {
    200: {
      description: "A shell script; for Windows a PowerShell script.",
      content: { "text/plain": { schema: { type: "string" } } },
    },
    404: failure("NotFound"),
    ...always,
  },
};

const documentSchema: Json = {
  operationId: "GetTemplateDocumentSchema",
  summary: "Get the JSON Schema of template documents",
  description: `The JSON Schema of the format \`steward.template/1\`, for editors. The server checks more than it says, such as the
rules of values that depend on each other.`,
  tags: ["Templates"],
  security: [],
  responses: {
    200: {
      description: "A JSON Schema of draft 2020-12.",
      content: { "application/schema+json": { schema: { type: "object" } } },
    },
    ...always,
  },
};

/** The paths with their descriptions. */
export const plainRoutes: Readonly<Record<string, Json>> = {
  "/api/v2/organizations/{organization}/provisionerdaemons/serve": { get: serve },
  "/api/v2/init-script/{os}/{arch}": { get: initScript },
  [documentSchemaPath]: { get: documentSchema },
};
