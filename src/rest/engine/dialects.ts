import type { IncomingMessage } from "node:http";
import type { Config } from "../../runtime/config.js";
import type { Services } from "../../domain/kernel/context.js";
import { DomainError } from "../../domain/kernel/errors.js";
import { report, translate } from "../../graphql/engine/errors.js";
import { readBody } from "../../http/body.js";
import { hasSentCredential, type Surface } from "../../http/credentials.js";
import { type ChallengeDetails, failureHeaders, statusOf, TransportError } from "../../http/errors.js";
import type { Http, Middleware } from "../../http/exchange.js";

/** The details of a failed request that a dialect uses. */
export interface FailureDetails extends ChallengeDetails {
  /** Spells a field as the caller wrote it. */
  wireField: (field: string) => string;
}

/** How the rows of an area read requests and spell responses. */
export interface Dialect {
  /** The name of the body of a failure in the API description. */
  failureName: "Failure" | "OAuth2Failure" | "ScimFailure" | "ProvisioningFailure";
  /** The media types of bodies, in descriptions. Default: `application/json`. */
  mediaTypes?: readonly string[];
  /** The Content-Type of successful responses. */
  contentType: (request: IncomingMessage) => string;
  /** Whether clients may keep responses for five minutes, and ask by their `ETag` whether they are still the same. */
  isCached?: true;
  /** Whether paths may end in a slash. */
  takesTrailingSlash?: true;
  /**
   * The requests that are in this dialect. Default: all. Requests in another one are left to the rows of other areas.
   */
  serves?: (request: IncomingMessage) => boolean;
  /** Where requests have their credential. Default: as for the API. */
  surface?: Surface;
  /** The variable that the token of `Authorization: Bearer` fills, for operations that take no other credential. */
  bearer?: string;
  /** Fields of the input that `readBody` fills from headers: the API description does not list them. */
  derived?: readonly string[];
  /** Whether parameters of the path may be repeated in the body, with the same values. */
  repeatsPath?: true;
  /** Query parameters whose empty value differs from an absent one. */
  keepsEmpty?: readonly string[];
  /** Whether failed authentication is limited by address. */
  limitsRejections?: true;
  /** Maximum size of a body in bytes. */
  bodyLimit(config: Config): number;
  /** Reads the body as an object of wire names; `undefined` where there is none. Throws what is wrong with its form. */
  readBody(request: IncomingMessage, limit: number): Promise<Record<string, unknown> | undefined>;
  /** Spells the failure of an operation, or a fault of the HTTP request. */
  fail(http: Http, failure: DomainError | TransportError, details: FailureDetails): void;
}

/** The dialect of `/api/v2`: JSON objects, and failures as `{message, detail, validations}`. */
export const apiDialect: Dialect = {
  failureName: "Failure",
  contentType: () => "application/json; charset=utf-8",
  bodyLimit: ({ bodyLimit }) => bodyLimit,
  readBody,

  fail(http, failure, details) {
    http.status = statusOf(failure);
    http.set(failureHeaders(failure, details));
    http.body = {
      message: failure.message,
      detail: detailOf(http, failure),
      validations:
        failure instanceof DomainError
          ? failure.details.validations?.map(({ field, detail }) => ({ field: details.wireField(field), detail }))
          : undefined,
    };
  },
};

/** The detail of a failure besides its message. For a defect, the id under which it was logged. */
export function detailOf({ state }: Http, failure: DomainError | TransportError): string | undefined {
  if (failure instanceof TransportError) return failure.detail;
  return failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${state.details.id}` : failure.details.detail;
}

/** The details of a route that its error middleware uses. */
interface Failing {
  scopes?: readonly string[];
  isChallenged?: (request: IncomingMessage) => boolean;
  wireField?: (field: string, variables: Record<string, unknown>) => string;
}

/** Error middleware: responds to what is thrown in a dialect. */
export function errorsIn(
  dialect: Dialect,
  { config, limits, log }: Services,
  { scopes, isChallenged = () => false, wireField = (field) => field }: Failing = {},
): Middleware {
  const { accessUrl } = config;

  /** Counts a failed authentication, where these are limited. Returns RATE_LIMITED instead if there were too many. */
  function countRejection({ state }: Http, failure: DomainError): DomainError {
    if (!dialect.limitsRejections || failure.code !== "UNAUTHENTICATED") return failure;
    try {
      limits.countRejection(state.details);
      return failure;
    } catch (error) {
      return error as DomainError;
    }
  }

  return async (http, next) => {
    try {
      await next();
    } catch (error) {
      const { details, variables = {} } = http.state;
      const failure = error instanceof TransportError ? error : countRejection(http, translate(error));
      if (failure instanceof DomainError) report({ log, request: details }, failure, error);
      dialect.fail(http, failure, {
        accessUrl,
        scopes,
        isChallenged: isChallenged(http.req) || hasSentCredential(http.req, accessUrl),
        wireField: (field) => wireField(field, variables),
      });
    }
  };
}
