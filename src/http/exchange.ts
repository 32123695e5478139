import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import type { Context } from "../domain/kernel/context.js";
import type { RequestDetails } from "../domain/kernel/request.js";
import type { Unread } from "./slow-clients.js";

/** The state of a request on every transport. */
export interface RequestState {
  details: RequestDetails;
  /** Ends when the connection closes, the session ends or the server drains. */
  lifetime: () => AbortController;
}

/** The state of a request on its way through Koa. */
export interface State extends RequestState {
  /** Counts what the client has not read. */
  unread: Unread;
  /** The variables of the operation that the request runs, once they are read. */
  variables?: Record<string, unknown>;
}

/** The properties that the router adds to Koa's context. */
export interface Routed {
  params: Record<string, string>;
  /** The pattern of the path. */
  _matchedRoute?: string | RegExp;
  /** The routes of the path, whatever their methods are. */
  matched?: ReadonlyArray<{ methods: readonly string[] }>;
}

/** Koa's context of a request. */
export type Http = Koa.ParameterizedContext<State, Routed>;

export type Middleware = Koa.Middleware<State, Routed>;

/** Connections that ask to become a WebSocket, by their request. A handler that sets a response leaves them HTTP. */
export const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

/** Creates the domain's context of a request. Throws UNAUTHENTICATED for a bad credential. */
export type ContextOf = (request: IncomingMessage, state: RequestState) => Context | Promise<Context>;

/** A handler behind error middleware. */
export const within =
  (errors: Middleware, handler: Middleware): Middleware =>
  (http, next) =>
    errors(http, async () => void (await handler(http, next)));

/** Redirects without a body. That of Koa's `redirect` has the location, which may contain a secret code. */
export function redirect(http: Http, status: number, location: string): void {
  http.status = status;
  http.set("Location", location);
  http.body = "";
}

/** The header of files whose path changes with their content: browsers may keep them for good. */
export const keptForGood = { "Cache-Control": "public, max-age=31536000, immutable" };
