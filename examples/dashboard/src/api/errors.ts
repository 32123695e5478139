import { CombinedGraphQLErrors, ServerError } from "@apollo/client/errors";

/** An invalid field of an input; `field` is a path such as `input.email`. */
export interface Validation {
  field: string;
  detail: string;
}

/** An error as people see it. */
export interface Described {
  /** The code of the API, or `UNREACHABLE` if no server responded. */
  code: string;
  message: string;
  detail?: string;
  validations: Validation[];
  /** Seconds to wait before the next try. */
  retryAfter?: number;
  requestId?: string;
}

interface Extensions {
  code?: string;
  detail?: string;
  validations?: Validation[];
  retryAfter?: number;
  requestId?: string;
}

const advice: Record<string, string> = {
  FORBIDDEN: "You may not do this",
  NOT_FOUND: "Not found",
  RATE_LIMITED: "Too many requests",
  UNAVAILABLE: "Steward is busy",
  INTERNAL_SERVER_ERROR: "Something went wrong in Steward",
  UNREACHABLE: "Steward cannot be reached",
};

/** A heading for a page that could not be loaded. */
export const headingOf = ({ code, message }: Described): string => advice[code] ?? message;

/** Reads an error of any link of the client. */
export function describe(error: unknown): Described {
  const first = CombinedGraphQLErrors.is(error) ? error.errors[0] : ServerError.is(error) && inBody(error.bodyText);
  if (!first) return unreachable(ServerError.is(error) ? error.statusCode : undefined);
  const { code = "INTERNAL_SERVER_ERROR", validations = [], ...rest } = (first.extensions ?? {}) as Extensions;
  return { ...rest, code, validations, message: first.message };
}

function inBody(text: string): { message: string; extensions?: Extensions } | undefined {
  try {
    return (JSON.parse(text) as { errors?: Array<{ message: string }> }).errors?.[0];
  } catch {
    return undefined;
  }
}

const unreachable = (status?: number): Described => ({
  code: "UNREACHABLE",
  message: advice.UNREACHABLE!,
  detail: status ? `The response had the status ${status}.` : undefined,
  validations: [],
});

/** One sentence for a message that appears for a moment. */
export function inOneSentence(error: unknown): string {
  const { message, detail, validations, retryAfter } = describe(error);
  const wait = retryAfter && `Try again in ${retryAfter} ${retryAfter === 1 ? "second" : "seconds"}.`;
  return [message, detail, ...validations.map((each) => each.detail), wait].filter(Boolean).join(" ");
}
