import type { DomainError } from "../../domain/kernel/errors.js";
import type { RequestDetails } from "../../domain/kernel/request.js";
import { cleanText } from "./results.js";

/** Describes a failure to a model, with all that is wrong with the arguments. */
export function faultText({ code, message, details }: DomainError, request: RequestDetails): string {
  if (code === "INTERNAL_SERVER_ERROR") return `${message} Request id ${request.id}.`;
  const { detail, validations = [], retryAfter } = details;
  const lines = [
    message,
    detail,
    ...validations.map((each) => `${each.field}: ${each.detail}`),
    retryAfter === undefined ? undefined : `Try again after ${retryAfter} seconds.`,
  ];
  return cleanText(lines.filter(Boolean).join("\n"));
}
