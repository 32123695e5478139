import type { Context } from "../../domain/kernel/context.js";
import type { DomainError } from "../../domain/kernel/errors.js";
import type { BulkResult } from "../../domain/scim/bulk.js";
import { bulkResponse, errorMessage } from "../../domain/scim/scim-messages.js";
import { statusOf } from "../../http/errors.js";
import { report, translate } from "../engine/errors.js";

/** Spells a failure as a SCIM error. `requestId` is that of defects. */
export function scimError(failure: DomainError, requestId: string): Record<string, unknown> {
  const { detail, validations = [], scimType, tooLarge } = failure.details;
  const isInput = failure.code === "BAD_USER_INPUT" && !tooLarge;
  const faults = validations.map((each) => `${each.field}: ${each.detail}`).join(" ");
  const text =
    failure.code === "INTERNAL_SERVER_ERROR" ? `Request id ${requestId}` : faults || (detail ?? failure.message);
  return errorMessage({
    status: statusOf(failure),
    scimType: scimType ?? (isInput ? "invalidValue" : undefined),
    detail: text,
  });
}

/** Spells the results of a bulk request, and logs defects. */
export const bulkDocument = (ctx: Context, results: readonly BulkResult[]): Record<string, unknown> =>
  bulkResponse(
    results.map(({ failure: thrown, status, ...result }) => {
      if (thrown === undefined) return { ...result, status: String(status) };
      const failure = translate(thrown);
      report(ctx, failure, thrown);
      return { ...result, status: String(statusOf(failure)), response: scimError(failure, ctx.request.id) };
    }),
  );
