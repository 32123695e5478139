import { hash } from "node:crypto";
import type { StoredOperation } from "../../graphql/engine/stored-operations.js";
import type { Variables } from "../../graphql/engine/variables.js";
import { type Http, type Middleware, redirect } from "../../http/exchange.js";
import { jsonOf } from "../../http/large-responses.js";
import { redirects } from "./area.js";
import type { Endpoint } from "./endpoint.js";
import { spell } from "./render.js";
import { step } from "./shapes.js";

/** Responds to a row's requests with the result of its query or mutation. */
export function respondWith(endpoint: Endpoint): Middleware {
  const { route, result } = endpoint;
  const { dialect, status, options } = route;
  const { body, headers, isUnmodified } = result;

  return async (http) => {
    const data = await endpoint.run(http);
    const content = body?.from.reduce<unknown>(step, data);
    if (options.successor) deprecate(http, options.successor);
    for (const { name, from } of headers) http.set(name, String(from.reduce<unknown>(step, data)));
    const isEmpty = body !== undefined && content == null;
    http.status = isUnmodified?.(data) ? 304 : isEmpty ? 204 : status;
    if (redirects(route)) return redirect(http, status, content as string);
    if (http.status === 204 || http.status === 304) return;
    // Clients that expect JSON check the media type even if there is nothing to read.
    http.set("Content-Type", dialect.contentType(http.req));
    const json = body && spell(body.shape, content);
    http.body = body ? await jsonOf(options.oneElementArray ? [json] : json) : "";
    if (dialect.isCached) keep(http, http.body as string);
  };
}

/**
 * Lets clients keep a response, and sends none to those that have it already (RFC 9110 §13.1.2). Koa's `fresh` ignores
 * the condition of requests with `Cache-Control: no-cache`, which `fetch` adds to those with a condition.
 */
function keep(http: Http, body: string): void {
  const tag = `"${hash("sha256", body, "base64url").slice(0, 22)}"`;
  http.set({ "Cache-Control": "public, max-age=300", ETag: tag });
  const known = http.get("if-none-match").split(",");
  if (known.some((each) => ["*", tag, `W/${tag}`].includes(each.trim()))) http.status = 304;
}

/** Marks the path as deprecated (RFC 9745) and links its successor (RFC 8288). */
function deprecate(http: Http, successor: string): void {
  const path = successor.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(http.params[name] ?? "default"));
  http.set({ Deprecation: "true", Link: `<${path}>; rel="successor-version"` });
}

/** A request for a page that is a row: pages are in a layer of their own. */
export interface PageRequest {
  operation: StoredOperation;
  /** The fields of the form that was sent. */
  form: URLSearchParams;
  /** The parameters in the query. */
  variables: () => Variables;
}

/** The pages and errors that browsers get for rows that they request. */
export interface BrowserPages {
  /** Error middleware that responds to browsers, and leaves the errors of other clients to the dialect of the row. */
  errors: Middleware;
  /** Shows the pages of rows, by the names of their operations. */
  pages: Readonly<Record<string, (http: Http, request: PageRequest) => Promise<void>>>;
}

/** Responds with a page. The fields of its forms are the body; all other parameters are in the query. */
export function pageWith(endpoint: Endpoint, show: BrowserPages["pages"][string]): Middleware {
  const { operation, route, services } = endpoint;

  return async (http) => {
    if (operation.triesSecrets) await services.limits.countAddress(http.state.details);
    const { dialect, method } = route;
    const sent = method === "POST" ? await dialect.readBody(http.req, dialect.bodyLimit(services.config)) : undefined;
    const fields = Object.entries(sent ?? {}).map(([name, value]): [string, string] => [name, String(value)]);
    const form = new URLSearchParams(fields);
    await show(http, { operation, form, variables: () => endpoint.variablesOf(http, {}) });
  };
}
