import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import type { Context } from "../domain/kernel/context.js";
import type { RequestDetails } from "../domain/kernel/request.js";
import type { HttpResponse } from "./responses.js";
import type { Unread } from "./unread.js";

/** The state of a request on every transport. */
export interface RequestState {
  details: RequestDetails;
  /** Ends when the connection closes, the session ends or the server drains. */
  lifetime: () => AbortController;
}

/** The state of a request on its way through Koa. */
export interface State extends RequestState {
  /** Headers of any response to this request. Headers of the response itself override them. */
  headers: OutgoingHttpHeaders & { "Set-Cookie"?: string[] };
  /** The pattern of the path, where one is known, and the parameters in it. */
  route?: string;
  params: Record<string, string>;
  /** The response, once there is one. */
  response?: HttpResponse;
  /** Counts what the client has not read. */
  unread: Unread;
}

/** The part of Koa's context that handlers may use: it reads the request. Responses are set with `send`. */
export interface Http extends Pick<
  Koa.ExtendableContext,
  "req" | "res" | "method" | "path" | "originalUrl" | "search" | "querystring" | "headers" | "get" | "accepts"
> {
  state: State;
}

/** Connections that ask to become a WebSocket, by their request. A handler that sends a response leaves them HTTP. */
export const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

/** Creates the domain's context of a request. Throws UNAUTHENTICATED for a bad credential. */
export type ContextOf = (request: IncomingMessage, state: RequestState) => Context | Promise<Context>;

/** Sets the response of a request; it is written once all middleware has added its headers. */
export function send({ state }: Http, response: HttpResponse): void {
  state.response = response;
}
