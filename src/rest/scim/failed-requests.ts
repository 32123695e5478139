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
 * Notes the requests of SCIM keys that fail, with their response. A request that fails before its key is known, or whose path
 * does not exist, belongs to no key. Operations that fail within a bulk request do not count: its response has their failures,
 * but is no failure itself.
 */
export class FailedRequests {
  constructor(private readonly services: Pick<Services, "scimRequests">) {}

  /** Middleware of the rows of SCIM. What gave up the request before its row responded has sent the response, and notes it. */
  ofRow: Middleware = async (http, next) => {
    await next();
    if (http.state.details.fate !== "given up") this.note(http);
  };

  /** Notes a request if its response is a failure. */
  note({ method, req, status, body, state }: Http): void {
    const { details, variables } = state;
    if (status < 400 || details.actorId === undefined) return;
    const failure = (body ?? {}) as Failure;
    this.services.scimRequests.note({
      key: details.actorId,
      method,
      path: withoutSecrets(req.url!),
      status,
      scimType: failure.scimType,
      // Messages about filters quote them.
      detail: isAboutPasswords(variables?.filter) ? undefined : maskTokens(reasonOf(failure)),
      requestId: details.id,
    });
  }
}

const reasonOf = ({ detail, message, validations }: Failure): string =>
  validations?.map((each) => `${each.field}: ${each.detail}`).join(" ") || (detail ?? message ?? "");

/** Tokens of this server, wherever they are. */
const maskTokens = (text: string): string => text.replace(/\bstw[a-z]?_[\w-]+/g, "…");

const isAboutPasswords = (filter: unknown): boolean => typeof filter === "string" && /password/i.test(filter);

const isShown = (parameter: string, value: string): boolean =>
  parameters.has(parameter) && !(parameter === "filter" && isAboutPasswords(value));

/** Returns the decoded path and query of a target, without values that may be secrets. */
function withoutSecrets(target: string): string {
  const [path = "", query = ""] = target.split(/\?(.*)/s);
  const shown = [...new URLSearchParams(query)].map(([name, value]) => `${name}=${isShown(name, value) ? value : "…"}`);
  return maskTokens(decodePath(path) + (shown.length > 0 ? `?${shown.join("&")}` : ""));
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
