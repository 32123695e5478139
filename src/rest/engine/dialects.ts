import type { IncomingMessage } from "node:http";
import type { Config } from "../../config/config.js";
import type { DomainError } from "../../domain/kernel/errors.js";
import { readBody } from "../../http/body.js";
import type { Surface } from "../../http/credentials.js";
import { type HttpResponse, json, type TransportError, transportFailure } from "../../http/responses.js";
import { type ChallengeDetails, failureHeaders } from "../../http/challenge.js";
import { statusOf } from "../../http/statuses.js";

export interface FailureDetails extends ChallengeDetails {
  requestId: string;
  /** Spells a field as the caller wrote it. */
  wireField: (field: string) => string;
}

/** How the rows of an area read bodies and spell responses. */
export interface Dialect {
  /** What the API description calls the body of a failure. */
  failureName: "Failure" | "OAuth2Failure" | "ScimFailure" | "ProvisioningFailure";
  /** The media types of bodies. Default: `application/json`. */
  mediaTypes?: readonly string[];
  /** Headers of every response with a body. */
  headers: Readonly<Record<string, string>>;
  /** The same, if they depend on the request. */
  headersFor?(request: IncomingMessage): Readonly<Record<string, string>>;
  /** Maximum size of a body in bytes. Default: that of the deployment. */
  bodyLimit?: number;
  /** The same, if it is a setting. */
  configuredLimit?(config: Config): number;
  /** Where requests have their credential. Default: as for the API. */
  surface?: Surface;
  /** Whether failed authentication is limited by address. */
  limitsRejections?: true;
  /** Reads the body as an object of wire names; `undefined` where there is none. Throws what is wrong with its form. */
  readBody(request: IncomingMessage, limit: number): Promise<Record<string, unknown> | undefined>;
  /** Spells a failure of an operation. */
  failure(failure: DomainError, details: FailureDetails): HttpResponse;
  /** Spells a fault of the HTTP request. */
  transportFailure(failure: TransportError): HttpResponse;
}

/** The dialect of `/api/v2`: JSON objects, and failures as `{message, detail, validations}`. */
export const apiDialect: Dialect = {
  failureName: "Failure",
  headers: json,
  readBody,
  transportFailure,
  failure(failure, details) {
    const { detail, validations } = failure.details;
    const body = {
      message: failure.message,
      detail: failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${details.requestId}` : detail,
      validations: validations?.map(({ field, detail: rule }) => ({ field: details.wireField(field), detail: rule })),
    };
    return { status: statusOf(failure), headers: failureHeaders(failure, details), body: JSON.stringify(body) };
  },
};
