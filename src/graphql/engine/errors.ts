import { GraphQLError, type GraphQLFormattedError, Kind } from "graphql";
import type { Context } from "../../domain/kernel/context.js";
import { isConnectionFault } from "../../domain/kernel/availability.js";
import { badInput, DomainError, unavailable } from "../../domain/kernel/errors.js";

/** SQLSTATEs that mean "not now": no resources, statement or lock time-out, serialization failure, deadlock, read-only. */
const passing = /^(53...|57014|55P03|40001|40P01|25006)$/;

/** SQLSTATEs for text that Postgres cannot hold, such as NUL. */
const unstorable = /^(22021|22P05)$/;

/** What a thrown thing means to the caller. A defect is not explained: it is logged, and answered with its request id. */
export function translate(error: unknown): DomainError {
  const cause = rootCause(error);
  if (cause instanceof DomainError) return cause;
  if (cause instanceof GraphQLError && !isMisfit(error))
    return new DomainError("BAD_USER_INPUT", withoutLiterals(cause.message));
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (passing.test(code) || isConnectionFault(cause)) return unavailable();
  if (unstorable.test(code)) return badInput([], "Text must be valid Unicode without NUL characters.");
  return new DomainError("INTERNAL_SERVER_ERROR", "An internal error occurred.", { cause });
}

/** Wraps what was thrown outside a resolver as GraphQL itself wraps what resolvers throw. */
export const asGraphqlError = (error: unknown): GraphQLError =>
  error instanceof GraphQLError ? error : new GraphQLError((error as Error).message, { originalError: error as Error });

/**
 * What is wrong with a document, without the literals in it: one of them may be a secret. The parser quotes the token it
 * stops at, and the checks quote the literal behind `value:` or `found`.
 */
export const withoutLiterals = (message: string): string =>
  message
    .replace(/^(Syntax Error: .*?\b(?:Name|Int|Float|String|BlockString)) ".*"/s, "$1")
    .replace(/( cannot represent [\w -]*value): .*/s, "$1.")
    .replace(/^(Expected value of type ".*?"), found .*/s, "$1.");

/** What GraphQL says of a value that does not fit its field: our doing, unlike all else that it finds wrong. */
const misfit =
  /^Cannot return null for non-nullable field|^\w+ cannot represent|^Enum "\w+" cannot represent|^Expected Iterable|^Abstract type/;

const isMisfit = (error: unknown) =>
  error instanceof GraphQLError && error.path !== undefined && misfit.test(error.message);

function rootCause(error: unknown): unknown {
  let cause = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

/** Writes what operators need to see to the log: defects with their stack, outages with their reason. */
export function report(ctx: Pick<Context, "log" | "request">, failure: DomainError, thrown: unknown): void {
  const cause = rootCause(thrown);
  const { code, facts } = failure;
  const requestId = ctx.request.id;
  if (code === "INTERNAL_SERVER_ERROR") ctx.log.error({ err: cause, requestId }, "defect");
  // What the domain refuses says why by itself: in a flood, stacks of it would be a flood of their own.
  else if (code === "UNAVAILABLE" && cause === failure)
    ctx.log.warn({ detail: facts.detail, err: failure.cause, requestId }, "unavailable");
  else if (code === "UNAVAILABLE") ctx.log.warn({ err: cause, requestId }, "unavailable");
}

/** Fields are named from the argument: `input.addUsers[2]`. The domain does not know that mutations have an input. */
function argumentPath({ nodes }: GraphQLError, field: string): string {
  const isMutation = nodes?.some(
    (node) => node.kind === Kind.FIELD && node.arguments?.some(({ name }) => name.value === "input"),
  );
  return isMutation ? `input.${field}` : field;
}

/** The one form in which errors leave GraphQL, by HTTP and by socket. */
export function formatError(ctx: Pick<Context, "log" | "request">, error: GraphQLError): GraphQLFormattedError {
  const failure = translate(error);
  report(ctx, failure, error);
  const { validations, retryAfter, requiredScopes, feature, detail } = failure.facts;
  const defect = failure.code === "INTERNAL_SERVER_ERROR";
  return {
    message: failure.message,
    ...(error.locations && { locations: error.locations }),
    ...(error.path && { path: error.path }),
    extensions: {
      code: failure.code,
      ...(defect ? { detail: `Request id ${ctx.request.id}` } : detail !== undefined && { detail }),
      ...(validations && {
        validations: validations.map((each) => ({ ...each, field: argumentPath(error, each.field) })),
      }),
      ...(retryAfter !== undefined && { retryAfter }),
      ...(requiredScopes && { requiredScopes }),
      ...(feature && { feature }),
      requestId: ctx.request.id,
    },
  };
}
