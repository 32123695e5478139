import type { Services } from "../../domain/kernel/context.js";
import type { Http, Middleware } from "../../http/exchange.js";

/** Query parameters of SCIM. The values of all others are left out of the log: clients may send secrets in them. */
const parameters = new Set([
  "attributes",
  "count",
  "cursor",
  "excludedAttributes",
  "filter",
  "sortBy",
  "sortOrder",
  "startIndex",
]);

/** The body of a failure in either dialect of SCIM. */
interface Failure {
  scimType?: string;
  detail?: string;
  message?: string;
  validations?: ReadonlyArray<{ field: string; detail: string }>;
}

/**
 * Middleware that notes the requests of SCIM keys that fail, with their response. A request that fails before its key is
 * known, or whose path does not exist, belongs to no key. Operations that fail within a bulk request do not count: its response
 * has their failures, but is no failure itself.
 */
export const noteFailedRequests = ({ scimRequests }: Pick<Services, "scimRequests">): Middleware => {
  async function noted(http: Http, next: () => Promise<unknown>): Promise<void> {
    await next();
    const { method, req, status } = http;
    const { details, variables } = http.state;
    if (status < 400 || details.actorId === undefined) return;
    const failure = (http.body ?? {}) as Failure;
    scimRequests.note({
      key: details.actorId,
      method,
      path: withoutSecrets(req.url!),
      status,
      scimType: failure.scimType,
      // Messages about filters quote them.
      detail: isAboutPasswords(variables?.filter) ? undefined : masked(reasonOf(failure)),
      requestId: details.id,
    });
  }
  return (http, next) => (/^\/scim\/v2([/?]|$)/.test(http.req.url ?? "") ? noted(http, next) : next());
};

const reasonOf = ({ detail, message, validations }: Failure): string =>
  validations?.map((each) => `${each.field}: ${each.detail}`).join(" ") || (detail ?? message ?? "");

/** Tokens of this server, wherever they are. */
const masked = (text: string): string => text.replace(/\bstw[a-z]?_[\w-]+/g, "…");

const isAboutPasswords = (filter: unknown): boolean => typeof filter === "string" && /password/i.test(filter);

const isShown = (parameter: string, value: string): boolean =>
  parameters.has(parameter) && !(parameter === "filter" && isAboutPasswords(value));

/** Returns the decoded path and query of a target, without values that may be secrets. */
function withoutSecrets(target: string): string {
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const shown = [...new URLSearchParams(query)].map(([name, value]) => `${name}=${isShown(name, value) ? value : "…"}`);
  return masked(decoded(path) + (shown.length > 0 ? `?${shown.join("&")}` : ""));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
