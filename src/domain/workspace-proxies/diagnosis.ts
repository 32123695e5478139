import { type Fetch, OutsideError } from "../outside/http.js";
import { isStorable } from "../kernel/text.js";
import type { ProxyReport, ProxyStatus } from "./row.js";

export interface Diagnosis {
  status: ProxyStatus;
  report: ProxyReport;
}

const found = (status: ProxyStatus, error: string): Diagnosis => ({
  status,
  report: { errors: [error], warnings: [] },
});

/**
 * Checks the health of a proxy by its `/healthz-report`. `fetch` limits the duration, the response size, and the
 * addresses that may be called. Redirects are not followed, so that only the registered host is called.
 */
export async function diagnose(fetch: Fetch, accessUrl: string, signal: AbortSignal): Promise<Diagnosis> {
  try {
    const response = await fetch(`${accessUrl}/healthz-report`, { redirect: "manual", signal });
    if (response.status !== 200) return found("unhealthy", `unexpected status code ${response.status}`);
    const report = reportOf(await response.text());
    if (!report) return found("unhealthy", "the response is not a report");
    return { status: report.errors.length > 0 ? "unhealthy" : "ok", report };
  } catch (error) {
    if (!(error instanceof OutsideError)) throw error;
    if (error.reason === "too_large") return found("unhealthy", "the report is too long");
    return found("unreachable", `request to proxy failed: ${kindOf(error)}`);
  }
}

/** Lines of a report that are stored, and characters per line. */
const maxLines = 20;
const maxLineLength = 512;

function reportOf(text: string): ProxyReport | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof content !== "object" || content === null) return undefined;
  const { errors, warnings } = content as Record<string, unknown>;
  return areLines(errors) && areLines(warnings)
    ? { errors: truncated(errors), warnings: truncated(warnings) }
    : undefined;
}

const areLines = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((line) => typeof line === "string" && isStorable(line));

const truncated = (lines: string[]): string[] =>
  lines.slice(0, maxLines).map((line) => Array.from(line).slice(0, maxLineLength).join(""));

const nameErrors = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "ENODATA", "ESERVFAIL"]);
const tlsErrors = /TLS|SSL|CERT|SIGNATURE|^EPROTO$/;

/** The kind of failure, without internal names and addresses, since all users may read it. */
function kindOf({ reason, cause }: OutsideError): string {
  if (reason === "timeout") return "timeout";
  if (reason === "refused") return "address refused";
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (nameErrors.has(code)) return "name not found";
  return tlsErrors.test(code) ? "TLS failed" : "connection failed";
}
