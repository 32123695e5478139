import type { Dialect } from "../dialects.js";
import type { Endpoint } from "../endpoint.js";
import { contentOf, type Json } from "./schemas.js";

/** A failure of requests: the name of its response, when it happens, examples by dialect, and headers. */
interface Failure {
  name: string;
  description: string;
  example: Json;
  /** The error code in the dialect of OAuth2. Default: `invalid_request`. */
  oauthError?: string;
  headers?: Json;
}

const retryAfter = {
  "Retry-After": { description: "Seconds to wait before a retry.", schema: { type: "integer", minimum: 1 } },
};
const challenge = {
  "WWW-Authenticate": {
    description: "The credential that is needed (RFC 6750), and where to read about it (RFC 9728).",
    schema: { type: "string" },
  },
};

const failures: Record<number, Failure> = {
  400: {
    name: "BadRequest",
    description: "The request is malformed or breaks a rule. `validations` has every fault.",
    example: { message: "Validation failed.", validations: [{ field: "name", detail: "Is required." }] },
  },
  401: {
    name: "Unauthorized",
    oauthError: "invalid_token",
    description: "No valid credential was sent.",
    headers: challenge,
    example: {
      message: "You are signed out or your session has expired. Sign in again to continue.",
      detail: "No credential was sent.",
    },
  },
  403: {
    name: "Forbidden",
    oauthError: "access_denied",
    description: "The caller, the scopes of its credential, or the license of the deployment do not permit it.",
    example: { message: "Forbidden." },
  },
  404: {
    name: "NotFound",
    description: "An object that the path names is missing, or the caller may not read it.",
    example: { message: "Resource not found or you do not have access to it." },
  },
  409: {
    name: "Conflict",
    description: "The request conflicts with what is stored.",
    example: {
      message: "A group of this name already exists in the organization.",
      validations: [{ field: "name", detail: "Is the name of another group of the organization." }],
    },
  },
  413: {
    name: "ContentTooLarge",
    description: "The body is larger than the server accepts.",
    example: { message: "Request body too large.", detail: "At most 1048576 bytes are read." },
  },
  415: {
    name: "UnsupportedMediaType",
    description: "The body is not JSON in UTF-8, or has a Content-Encoding.",
    example: { message: "Unsupported media type." },
  },
  429: {
    name: "TooManyRequests",
    oauthError: "temporarily_unavailable",
    description: "The caller, the address, or the account has sent too many requests.",
    headers: retryAfter,
    example: { message: "Too many requests." },
  },
  500: {
    name: "InternalServerError",
    oauthError: "server_error",
    description: "The server has a defect. `detail` has the id under which it was logged.",
    example: { message: "An internal error occurred.", detail: "Request id 0198c1d2-7b1e-7a52-9c55-3f0a2f6d8e11" },
  },
  502: {
    name: "BadGateway",
    description: "Another service, on which the request depends, has failed.",
    example: { message: "The external authentication provider failed." },
  },
  503: {
    name: "ServiceUnavailable",
    oauthError: "temporarily_unavailable",
    description: "The server is overloaded, restarting, or without its database.",
    headers: retryAfter,
    example: { message: "The service is temporarily unavailable." },
  },
};

const failureSchema: Json = {
  type: "object",
  description: "Why a request failed.",
  required: ["message"],
  properties: {
    message: { type: "string", description: "The reason, in a sentence." },
    detail: { type: "string", description: "More about it." },
    validations: {
      type: "array",
      description: "Every fault of the request, in the order of its fields.",
      items: { $ref: "#/components/schemas/Validation" },
    },
  },
};

export const validationSchema: Json = {
  type: "object",
  description: "A fault of one field.",
  required: ["field", "detail"],
  properties: {
    field: { type: "string", description: "Path of the field, such as `add_users[2]` or the name of a parameter." },
    detail: { type: "string", description: "The rule that the value breaks, in a sentence." },
  },
};

const oauthFailureSchema: Json = {
  type: "object",
  description: "Why a request of the OAuth2 protocol failed (RFC 6749 §5.2).",
  required: ["error", "error_description"],
  properties: {
    error: { type: "string", description: "The error code." },
    error_description: { type: "string", description: "The reason, for developers." },
  },
};

const errorOfScim = {
  schemas: { type: "array", items: { type: "string" }, description: "The URN of errors of SCIM." },
  status: { type: "string", description: "The status of the response." },
  scimType: { type: "string", description: "The kind of the error." },
};

const scimFailureSchema: Json = {
  type: "object",
  description: "Why a request of SCIM failed (RFC 7644 §3.12).",
  required: ["schemas", "status"],
  properties: {
    ...errorOfScim,
    detail: { type: "string", description: "The reason." },
    message: { type: "string", description: "The same, for missing and wrong keys." },
  },
};

const provisioningFailureSchema: Json = {
  ...failureSchema,
  description: "Why a request failed. For missing and wrong keys it is an error of SCIM as well.",
  properties: { ...(failureSchema.properties as Json), ...errorOfScim },
};

/** The schemas of failures by dialect. */
export const failureSchemas: Record<Dialect["failureName"], Json> = {
  Failure: failureSchema,
  OAuth2Failure: oauthFailureSchema,
  ScimFailure: scimFailureSchema,
  ProvisioningFailure: provisioningFailureSchema,
};

/** The failed responses of operations, by name. */
export const failureResponsesOf = (endpoints: readonly Endpoint[]): Json =>
  Object.fromEntries(
    endpoints.flatMap((endpoint) =>
      statusesOf(endpoint).map((status) => [nameOf(endpoint, status), responseOf(endpoint, status)]),
    ),
  );

const nameOf = ({ route }: Endpoint, status: number): string =>
  route.dialect.failureName.replace("Failure", failures[status]!.name);

/** The example of a failure in a dialect. */
function exampleOf(failureName: Dialect["failureName"], status: number): Json {
  const { example, oauthError: error = "invalid_request" } = failures[status]!;
  if (failureName === "OAuth2Failure") return { error, error_description: example.message };
  if (failureName === "ScimFailure")
    return {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:Error"],
      status: String(status),
      detail: example.message,
    };
  return example;
}

function responseOf({ route: { dialect } }: Endpoint, status: number): Json {
  const { failureName } = dialect;
  const { description, headers } = failures[status]!;
  const example = exampleOf(failureName, status);
  const hasValidations = failureName === "Failure" || failureName === "ProvisioningFailure";
  return {
    // The second sentence is about fields that failures of the protocol do not have.
    description: hasValidations ? description : description.replace(/ `\w+` has .*$/, ""),
    ...(headers && { headers }),
    content: contentOf(dialect, { schema: { $ref: `#/components/schemas/${failureName}` }, example }),
  };
}

/** The failures that an operation can respond with, by status. Those that its row lists are described there. */
export const failuresOf = (endpoint: Endpoint): Json =>
  Object.fromEntries(
    statusesOf(endpoint).map((status) => {
      const description = endpoint.route.options.failures?.[status];
      const $ref = `#/components/responses/${nameOf(endpoint, status)}`;
      return [status, { $ref, ...(description && { description }) }];
    }),
  );

const statusesOf = ({ route, operation, binding }: Endpoint): number[] => [
  ...(binding.parameters.length > 0 ? [400] : []),
  ...(operation.open ? [] : [401, 403]),
  ...(binding.parameters.some((each) => each.in === "path") ? [404] : []),
  ...(binding.readsBody ? [413, 415] : []),
  429,
  500,
  503,
  ...Object.keys(route.options.failures ?? {}).map(Number),
];
