import { CombinedError } from "@urql/core";

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
  /** The reason of a rejection, for programs. */
  reason?: string;
  /** How the user can prove again who that is. */
  satisfiedBy?: string[];
}

type Extensions = Partial<Omit<Described, "message">>;

/** A mistake in a form that was found before anything was sent. */
export class InvalidInput extends Error {
  constructor(
    readonly validations: Validation[],
    message = "Validation failed.",
  ) {
    super(message);
  }
}

const headings: Record<string, string> = {
  FORBIDDEN: "You may not do this",
  NOT_FOUND: "Not found",
  RATE_LIMITED: "Too many requests",
  UNAVAILABLE: "Steward is busy",
  INTERNAL_SERVER_ERROR: "Something went wrong in Steward",
  UNREACHABLE: "Steward cannot be reached",
};

/** A heading for a page that could not be loaded. */
export const headingOf = ({ code, message }: Described): string => headings[code] ?? message;

/** Reads an error of a request. */
export function describe(error: unknown): Described {
  if (error instanceof InvalidInput)
    return { code: "BAD_USER_INPUT", message: error.message, validations: error.validations };
  const first = error instanceof CombinedError ? error.graphQLErrors[0] : undefined;
  if (!first) return { code: "UNREACHABLE", message: headings.UNREACHABLE!, validations: [] };
  const { code = "INTERNAL_SERVER_ERROR", validations = [], ...rest } = first.extensions as Extensions;
  return { ...rest, code, validations, message: first.message };
}

const waitOf = (seconds: number) => `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;

/** All that an error says, in sentences. */
export function inSentences(error: unknown): string {
  const { message, detail, validations, retryAfter } = describe(error);
  const rules = validations.map(({ field, detail: rule }) => `${field.replace(/^input\./, "")}: ${rule}`);
  return [message, detail, ...rules, retryAfter && waitOf(retryAfter)].filter(Boolean).join(" ");
}

/** The faults of the fields of a form, and of the form as a whole. */
export interface Faults {
  fields: Record<string, string>;
  whole?: string;
}

/**
 * Assigns each validation to the field whose name begins the path after `input`, or after the field `part` of it. Others
 * concern the whole form.
 */
export function faultsOf(error: unknown, names: readonly string[], part?: string): Faults {
  const { message, detail, validations, retryAfter } = describe(error);
  const fields: Record<string, string> = {};
  const others: string[] = [];
  for (const { field, detail: rule } of validations) {
    const whole = field.replace(/^input\./, "");
    const path =
      part !== undefined && whole.startsWith(part) ? whole.slice(part.length).replace(/^(\[\d+\])?\./, "") : whole;
    const name = names.find((each) => path.startsWith(each) && /^($|[.[])/.test(path.slice(each.length)));
    if (name !== undefined) fields[name] = [fields[name], rule].filter(Boolean).join(" ");
    else others.push(`${field}: ${rule}`);
  }
  // The message may say no more than the fields themselves.
  const said = ["Validation failed.", ...validations.map((each) => each.detail)];
  const isSaid = validations.length > 0 && others.length === 0 && !detail && said.includes(message);
  if (isSaid) return { fields };
  return { fields, whole: [message, detail, ...others, retryAfter && waitOf(retryAfter)].filter(Boolean).join(" ") };
}
