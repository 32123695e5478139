import type { OutgoingHttpHeaders } from "node:http";
import type { Answered } from "./answers.js";
import type { Http, State } from "./exchange.js";
import { quotaHeaders } from "./quotas.js";

/** What every answer to a request says besides itself. */
export const headersAround = ({ headers, facts }: State): OutgoingHttpHeaders => ({
  ...headers,
  ...quotaHeaders(facts),
});

/**
 * Writes a response in one go: header by header, as Koa does it, takes as long as all the rest of it. What has not come
 * of the request is read and dropped: a reader that gave up has paused it, and the connection would hang.
 */
export function write({ req, res, state }: Http, { status, headers, body }: Answered): void {
  const length = body === "" ? undefined : { "Content-Length": Buffer.byteLength(body) };
  res.writeHead(status, { ...headersAround(state), ...headers, ...length });
  if (body === "" || req.method === "HEAD") res.end();
  else res.end(body);
  state.unread.wrote(req.socket);
  if (!req.complete) req.resume();
}
