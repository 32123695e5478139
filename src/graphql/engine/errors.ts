import { GraphQLError, type GraphQLFormattedError, Kind } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { isConnectionFault } from "../../infrastructure/database/availability.js";
import { UnknownOutcome } from "../../infrastructure/database/unknown-outcome.js";
import { badInput, DomainError, unavailable } from "../../domain/kernel/errors.js";
import { codeReason } from "../../domain/sign-in/login.js";
import { noteError } from "../../domain/kernel/request.js";

/**
 * SQLSTATEs that mean "not now": no resources, statement or lock time-out, serialization failure, deadlock, read-only.
 */
const passing = /^(53...|57014|55P03|40001|40P01|25006)$/;

/** SQLSTATEs for text that Postgres cannot hold, such as NUL. */
const unstorable = /^(22021|22P05)$/;

/** Translates anything thrown to an error for the caller. A defect is logged; its response has only the request id. */
export function translate(error: unknown): DomainError {
  const cause = rootCause(error);
  if (cause instanceof DomainError) return cause;
  if (cause instanceof GraphQLError && !isMisfit(error))
    return new DomainError("BAD_USER_INPUT", withoutLiterals(cause.message));
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (cause instanceof UnknownOutcome)
    return unavailable(
      "It is not known whether the request was carried out: the database was lost while it was stored.",
    );
  if (passing.test(code) || isConnectionFault(cause)) return unavailable();
  if (unstorable.test(code)) return badInput([], "Text must be valid Unicode without NUL characters.");
  return new DomainError("INTERNAL_SERVER_ERROR", "An internal error occurred.", { cause });
}

/**
 * The ways to give the second factor that a sign-in with the right password lacks, such as `passkey`; none for a wrong one.
 * `undefined` for other failures.
 */
export function factorsAskedBy(error: unknown): readonly string[] | undefined {
  const { reason, satisfiedBy = [] } = translate(error).details;
  return reason === codeReason ? satisfiedBy : undefined;
}

/** Translates what an operation has thrown, and records the code in the request. */
export function failureOf({ request }: Pick<Context, "request">, thrown: unknown): DomainError {
  const failure = translate(thrown);
  noteError(request, failure.code);
  return failure;
}

/** Wraps what was thrown outside a resolver as GraphQL itself wraps what resolvers throw. */
export const asGraphqlError = (error: unknown): GraphQLError =>
  error instanceof GraphQLError ? error : new GraphQLError((error as Error).message, { originalError: error as Error });

/**
 * Returns the message about an invalid document without the literals in it: one of them may be a secret. The parser
 * quotes the token it stops at, and the checks quote the literal behind `value:` or `found`.
 */
export const withoutLiterals = (message: string): string =>
  message
    .replace(/^(Syntax Error: .*?\b(?:Name|Int|Float|String|BlockString)) ".*"/s, "$1")
    .replace(/( cannot represent [\w -]*value): .*/s, "$1.")
    .replace(/^(Expected value of type ".*?"), found .*/s, "$1.");

/**
 * Messages of graphql-js about a value that does not fit its field: a defect of the server, unlike its other errors.
 */
const misfit =
  /^Cannot return null for non-nullable field|^\w+ cannot represent|^Enum "\w+" cannot represent|^Expected Iterable|^Abstract type/;

const isMisfit = (error: unknown) =>
  error instanceof GraphQLError && error.path !== undefined && misfit.test(error.message);

function rootCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** Logs defects with their stack, and outages with their cause. Records the code of the failure in the request. */
export function report(ctx: Pick<Context, "log" | "request">, failure: DomainError, thrown: unknown): void {
  const cause = rootCause(thrown);
  const { code, details } = failure;
  const requestId = ctx.request.id;
  noteError(ctx.request, code);
  if (code === "INTERNAL_SERVER_ERROR") ctx.log.error({ err: cause, requestId }, "defect");
  // An error of the domain explains itself. Under overload, stacks would flood the log.
  else if (code === "UNAVAILABLE" && cause === failure)
    ctx.log.warn({ detail: details.detail, err: failure.cause, requestId }, "unavailable");
  else if (code === "UNAVAILABLE") ctx.log.warn({ err: cause, requestId }, "unavailable");
}

/**
 * The path of a field from the argument, such as `input.addUsers[2]`: the domain does not know that mutations have an
 * input.
 */
function argumentPath({ nodes }: GraphQLError, field: string): string {
  const isMutation = nodes?.some(
    (node) => node.kind === Kind.FIELD && node.arguments?.some(({ name }) => name.value === "input"),
  );
  return isMutation ? `input.${field}` : field;
}

/** Formats an error for GraphQL responses, over HTTP and sockets. Logs it if it is a defect or an outage. */
export function formatError(ctx: Pick<Context, "log" | "request">, error: GraphQLError): GraphQLFormattedError {
  const failure = translate(error);
  report(ctx, failure, error);
  const {
    validations,
    retryAfter,
    requiredScopes,
    feature,
    oauthError,
    redirectUri,
    precondition,
    scimType,
    detail,
    reason,
    satisfiedBy,
    maxAge,
  } = failure.details;
  const isDefect = failure.code === "INTERNAL_SERVER_ERROR";
  return {
    message: failure.message,
    ...(error.locations && { locations: error.locations }),
    ...(error.path && { path: error.path }),
    extensions: {
      code: failure.code,
      ...(isDefect ? { detail: `Request id ${ctx.request.id}` } : detail !== undefined && { detail }),
      ...(validations && {
        validations: validations.map((each) => ({ ...each, field: argumentPath(error, each.field) })),
      }),
      ...(retryAfter !== undefined && { retryAfter }),
      ...(requiredScopes && { requiredScopes }),
      ...(feature && { feature }),
      ...(oauthError && { oauthError }),
      ...(redirectUri && { redirectUri }),
      ...(reason && { reason }),
      ...(satisfiedBy && { satisfiedBy: satisfiedBy.map((way) => way.toUpperCase()) }),
      ...(maxAge !== undefined && { maxAge }),
      ...(precondition && { precondition }),
      ...(scimType && { scimType }),
      requestId: ctx.request.id,
    },
  };
}
