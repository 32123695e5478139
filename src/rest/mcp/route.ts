import type { IncomingMessage } from "node:http";
import type { GraphQLSchema } from "graphql";
import { Context, type Services } from "../../domain/kernel/context.js";
import { forbidden, unauthenticated } from "../../domain/kernel/errors.js";
import { mcpUsualScopes } from "../../domain/mcp/tools.js";
import { OwnResource } from "../../domain/oauth2/audiences.js";
import { bodyLimitOf, readBody, refuseEmpty } from "../../http/body.js";
import { actorOf, bearerOf } from "../../http/credentials.js";
import { TransportError } from "../../http/errors.js";
import { type Http, type Middleware, within } from "../../http/exchange.js";
import type { End } from "../../http/lifetimes.js";
import { quotaHeaders } from "../../http/rate-limits.js";
import type { Routes } from "../../http/routes.js";
import { apiDialect, type Dialect, errorsIn } from "../engine/dialects.js";
import { Outlet } from "../engine/stream.js";
import { llmsTxt } from "./llms.js";
import { Mcp, type McpCall } from "./server.js";

const path = OwnResource.MCP;

/** The challenges name the metadata of the MCP server, so that clients get tokens for it alone. */
const mcpDialect: Dialect = {
  ...apiDialect,
  surface: "mcp",
  fail: (http, failure, details) => apiDialect.fail(http, failure, { ...details, resource: path }),
};

const isChallenged = ({ headers }: IncomingMessage): boolean => bearerOf(headers) !== undefined;

/** Registers the MCP server, and the text that tells models of it. */
export function routeMcp(routes: Routes, services: Services, schema: GraphQLSchema): Mcp {
  const mcp = new Mcp(services, schema);
  const errors = errorsIn(mcpDialect, services, { scopes: mcpUsualScopes, isChallenged });
  routes.of(path).post(path, within(errors, respondWith(services, mcp)));
  routes.of("/llms.txt").get("/llms.txt", (http) => {
    http.type = "text/plain; charset=utf-8";
    http.body = llmsTxt(services, mcp.tools);
  });
  return mcp;
}

/** Finds the caller of a request: a user. Cookies do not count. */
async function callOf({ req, state }: Http, services: Services): Promise<McpCall> {
  const actor = await actorOf(services, req, { surface: "mcp" });
  const ctx = new Context(services, actor, state.details, state.lifetime);
  services.limits.countCaller(ctx);
  if (actor.kind === "anonymous") throw unauthenticated(state.details.unreadCredential ?? "No credential was sent.");
  if (actor.kind !== "user") throw forbidden();
  return { ctx, caller: actor };
}

function respondWith(services: Services, mcp: Mcp): Middleware {
  const { config, credentials, limits, mcpTools } = services;

  return async (http) => {
    if (!mcpTools.isEnabled)
      throw new TransportError(404, "Route not found.", "Owners have switched the MCP server off.");
    const call = await callOf(http, services);
    const body = (await readBody(http.req, bodyLimitOf(call.caller, config.bodyLimit))) ?? refuseEmpty();
    const release = limits.sockets.hold(call.caller);
    const isLong = mcp.isLong(body);
    let stopWatching: (() => void) | undefined;
    const done = () => {
      stopWatching?.();
      release();
    };
    try {
      const life = http.state.lifetime();
      if (isLong) stopWatching = credentials.watch(call.caller, () => life.abort("session" satisfies End));
      const response = await mcp.respond(
        requestOf(http, config.accessUrl, isLong ? life.signal : undefined),
        body,
        call,
      );
      // A request that timed out has its response.
      if (http.headerSent) return done();
      if (isLong && isStream(response)) return void stream(http, response, life).finally(done);
      copyHead(http, response);
      http.body = await response.text();
      done();
    } catch (error) {
      done();
      throw error;
    }
  };
}

const isStream = ({ headers }: Response): boolean => /^text\/event-stream\b/.test(headers.get("content-type") ?? "");

/** The request in the form that the library takes; its body was read. */
function requestOf({ req }: Http, accessUrl: string, signal: AbortSignal | undefined): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers))
    if (!name.startsWith(":")) for (const each of [value ?? []].flat()) headers.append(name, each);
  // Tokens are checked, and go no further.
  headers.delete("authorization");
  return new Request(accessUrl + path, { method: "POST", headers, signal });
}

function copyHead(http: Http, { status, headers }: Response): void {
  http.status = status;
  for (const [name, value] of headers) http.set(name, value);
}

/** Sends a response that stays open, event by event. It ends with the session of the caller, or with the server. */
async function stream(http: Http, response: Response, life: AbortController): Promise<void> {
  const { req, res, state } = http;
  copyHead(http, response);
  http.respond = false;
  http.set({ ...quotaHeaders(state.details), "Cache-Control": "no-store", "X-Accel-Buffering": "no" });
  http.flushHeaders();
  const outlet = new Outlet(req.socket, state.unread, life);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const onEnd = () => void reader.cancel().catch(() => {});
  life.signal.addEventListener("abort", onEnd);
  if (life.signal.aborted) onEnd();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || !(await outlet.leave((next) => res.write(value, next)))) break;
    }
  } catch {
    // The exchange was ended from the other side.
  } finally {
    life.signal.removeEventListener("abort", onEnd);
    void reader.cancel().catch(() => {});
    if (life.signal.reason === ("stalled" satisfies End)) res.destroy();
    else res.end();
  }
}
