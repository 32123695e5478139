/** A fault of an input, as the server reports it. */
export interface Fault {
  /** Its path, such as `input.document.resources[0].name`. */
  field: string;
  detail: string;
}

interface Details {
  code?: string | undefined;
  validations?: readonly Fault[];
  detail?: string;
  requiredScopes?: string[];
  requestId?: string;
  retryAfter?: number;
}

/** A failure that the server reports. */
export class ApiFailure extends Error {
  constructor(
    message: string,
    readonly details: Details = {},
  ) {
    super(message);
  }

  get code(): string | undefined {
    return this.details.code;
  }

  get faults(): readonly Fault[] {
    return this.details.validations ?? [];
  }
}

/** A failure of an operation, as GraphQL responses have it. */
export interface GraphqlError {
  message: string;
  extensions?: Details;
}

export const failureOf = ([first]: readonly GraphqlError[]): ApiFailure =>
  new ApiFailure(first?.message ?? "The server reported a failure without a message.", first?.extensions);

/** The server cannot be reached, or what responds is not Steward. */
export class Unreachable extends Error {
  constructor(url: string, cause: unknown) {
    super(`${url} cannot be reached: ${reasonOf(cause)}`);
  }
}

/** The reason of a failed request or connection: Node.js puts it in the cause. */
export function reasonOf(error: unknown): string {
  const {
    cause,
    error: inner,
    errors,
    message,
    code,
  } = error as Partial<AggregateError & { error: unknown; code: string }>;
  const deeper = cause ?? inner ?? errors?.[0];
  return (deeper ? reasonOf(deeper) : message || code) || "the connection failed";
}

/** The user has no login, or it has ended. */
export class NotSignedIn extends Error {}

/** Ctrl-C or SIGTERM. */
export class Interrupted extends Error {}

/** The command failed, for a reason that the message explains. */
export class Failed extends Error {}

export const commandLine = "npm run steward --";

/** Says in lines what failed, and what to do. Undefined for a defect of the program. */
export function explained(error: unknown): string | undefined {
  if (error instanceof ApiFailure) {
    const { detail, requiredScopes, requestId, retryAfter } = error.details;
    const faults = error.faults.map(({ field, detail: rule }) => `  ${field.replace(/^input\./, "")}: ${rule}`);
    const hints = [
      ...(requiredScopes?.length ? ["Use a login or a token that has it: see login --scope."] : []),
      ...(error.code === "RATE_LIMITED" && retryAfter ? [`Try again in ${retryAfter} seconds.`] : []),
      ...(error.code === "INTERNAL_SERVER_ERROR" && requestId ? [`Report the request ID ${requestId}.`] : []),
    ];
    const more = detail && !error.message.includes(detail) ? [detail] : [];
    return [error.message, ...more, ...faults, ...hints].join("\n");
  }
  const isExpected = [Unreachable, NotSignedIn, Interrupted, Failed].some((kind) => error instanceof kind);
  return isExpected ? (error as Error).message : undefined;
}

export const loginEnded = (url: string): NotSignedIn =>
  new NotSignedIn(
    `The login at ${url} has ended: it was revoked, or has expired.\nSign in again: ${commandLine} login ${url}`,
  );

export const notSignedIn = (url?: string): NotSignedIn =>
  new NotSignedIn(
    `You are not signed in${url ? ` at ${url}` : ""}. Run: ${commandLine} login ${url ?? "URL"}\n` +
      "Programs set STEWARD_URL and STEWARD_TOKEN, an API token, instead.",
  );
