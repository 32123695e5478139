import { steward } from "../../src/runtime/command-line.js";

/** A fault of an input, as the server reports it. */
export interface Fault {
  /** Its path, such as `input.document.resources[0].name`. */
  field: string;
  detail: string;
}

interface Details {
  code?: string | undefined;
  validations?: readonly Fault[];
  detail?: string | undefined;
  requiredScopes?: string[];
  requestId?: string | undefined;
  retryAfter?: number | undefined;
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

/** Returns the failure that the `errors` of a GraphQL response report, whatever form a server gives them. */
export function failureOf(errors: readonly unknown[]): ApiFailure {
  const { message, extensions } = membersOf(errors[0]);
  return new ApiFailure(textOr(message) ?? "The server reported a failure without a message.", detailsOf(extensions));
}

/** The members of an object; none of any other value. */
export const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

const textOr = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function detailsOf(extensions: unknown): Details {
  const { code, validations, detail, requiredScopes, requestId, retryAfter } = membersOf(extensions);
  return {
    code: textOr(code),
    validations: listOf(validations).map((each) => {
      const { field, detail: rule } = membersOf(each);
      return { field: textOr(field) ?? "", detail: textOr(rule) ?? "" };
    }),
    detail: textOr(detail),
    requiredScopes: listOf(requiredScopes).filter((each) => typeof each === "string"),
    requestId: textOr(requestId),
    retryAfter: typeof retryAfter === "number" ? retryAfter : undefined,
  };
}

/** The server cannot be reached, or what responds is not Steward. */
export class Unreachable extends Error {
  constructor(url: string, cause: unknown) {
    super(`${url} cannot be reached: ${reasonOf(cause)}`);
  }
}

/** The server responds in a form that this program does not know. */
export class Unexpected extends Error {
  constructor(url: string, cause: Error) {
    super(`${url} responds in a form that this program does not know. It may have another release. (${cause.message})`);
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

const noSuchText = (what: string) => `There is no ${what}, or you do not have access to it.`;

/** The failure that there is no object of a kind by a name or an ID. */
export const noSuch = (kind: string, reference: string): Failed => new Failed(noSuchText(`${kind} "${reference}"`));

/** Reads an object. Throws `Failed`, which names it as `what`, if there is none. */
export async function existing<Found>(what: string, read: Promise<Found | null | undefined>): Promise<Found> {
  const missing = () => new Failed(noSuchText(what));
  const found = await read.catch((error: unknown) => {
    throw error instanceof ApiFailure && error.code === "NOT_FOUND" ? missing() : error;
  });
  if (found == null) throw missing();
  return found;
}

/** Says in lines what failed, and what to do. Undefined for a defect of the program. */
export function explain(error: unknown): string | undefined {
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
  const isExpected = [Unreachable, Unexpected, NotSignedIn, Interrupted, Failed].some((kind) => error instanceof kind);
  return isExpected ? (error as Error).message : undefined;
}

export const loginEnded = (url: string): NotSignedIn =>
  new NotSignedIn(
    `The login at ${url} has ended: it was revoked, or has expired.\nSign in again: ${steward} login ${url}`,
  );

export const notSignedIn = (url?: string): NotSignedIn =>
  new NotSignedIn(
    `You are not signed in${url ? ` at ${url}` : ""}. Run: ${steward} login ${url ?? "URL"}\n` +
      "Programs set STEWARD_URL and STEWARD_TOKEN, an API token, instead.",
  );
