import type { OutgoingHttpHeaders } from "node:http";
import type { HttpResponse } from "./responses.js";
import type { Http, State } from "./exchange.js";
import { quotaHeaders } from "./quotas.js";

/** The headers that every response has besides its own. */
export const headersAround = ({ headers, details }: State): OutgoingHttpHeaders => ({
  ...headers,
  ...quotaHeaders(details),
});

/**
 * Writes a response with all headers in one call: setting them one by one, as Koa does, doubles the time. The unread rest
 * of the request is read and dropped: a reader that gave up has paused it, and the connection would hang. Response bodies
 * have no size limit here: lists without paging parameters are complete by contract. Only GraphQL documents of clients have
 * one (`limits.responseBytes`).
 */
export function write({ req, res, state }: Http, { status, headers, body }: HttpResponse): void {
  const length = body === "" ? undefined : { "Content-Length": Buffer.byteLength(body) };
  res.writeHead(status, { ...headersAround(state), ...headers, ...length });
  if (body === "" || req.method === "HEAD") res.end();
  else res.end(body);
  state.unread.wrote(req.socket);
  if (!req.complete) req.resume();
}
