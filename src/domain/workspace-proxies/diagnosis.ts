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
 * Finds out how a proxy is. `ask` bounds the time and the length of its answer, and the addresses that it may have.
 * Redirects are not followed: who registered is who is asked.
 */
export async function diagnose(ask: Fetch, accessUrl: string, signal: AbortSignal): Promise<Diagnosis> {
  try {
    const answer = await ask(`${accessUrl}/healthz-report`, { redirect: "manual", signal });
    if (answer.status !== 200) return found("unhealthy", `unexpected status code ${answer.status}`);
    const report = reportOf(await answer.text());
    if (!report) return found("unhealthy", "the answer is no report");
    return { status: report.errors.length > 0 ? "unhealthy" : "ok", report };
  } catch (error) {
    if (!(error instanceof OutsideError)) throw error;
    if (error.reason === "too_large") return found("unhealthy", "the report is too long");
    return found("unreachable", `request to proxy failed: ${kindOf(error)}`);
  }
}

/** Lines of a report that are shown, and characters of each. */
const mostLines = 20;
const longestLine = 512;

function reportOf(text: string): ProxyReport | undefined {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof content !== "object" || content === null) return undefined;
  const { errors, warnings } = content as Record<string, unknown>;
  return areLines(errors) && areLines(warnings) ? { errors: shown(errors), warnings: shown(warnings) } : undefined;
}

const areLines = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((line) => typeof line === "string" && isStorable(line));

const shown = (lines: string[]): string[] =>
  lines.slice(0, mostLines).map((line) => Array.from(line).slice(0, longestLine).join(""));

const nameErrors = new Set(["ENOTFOUND", "EAI_AGAIN", "EAI_FAIL", "EAI_NODATA", "ENODATA", "ESERVFAIL"]);
const tlsErrors = /TLS|SSL|CERT|SIGNATURE|^EPROTO$/;

/** Why a proxy could not be asked, without the names and addresses in it: everybody may read this. */
function kindOf({ reason, cause }: OutsideError): string {
  if (reason === "timeout") return "timeout";
  if (reason === "refused") return "address refused";
  const { code = "" } = (cause ?? {}) as { code?: string };
  if (nameErrors.has(code)) return "name not found";
  return tlsErrors.test(code) ? "TLS failed" : "connection failed";
}
