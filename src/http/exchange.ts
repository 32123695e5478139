import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Duplex } from "node:stream";
import type Koa from "koa";
import type { Context } from "../domain/kernel/context.js";
import type { RequestFacts } from "../domain/kernel/request.js";
import type { Answered } from "./answers.js";
import type { Unread } from "./unread.js";

/** What is known of a request, whatever it came by. */
export interface Asked {
  facts: RequestFacts;
  /** Ends when the connection closes, the session ends or the server drains. */
  lifetime: () => AbortController;
}

/** What is known of a request on its way through Koa. */
export interface State extends Asked {
  /** Headers of whatever the answer will be; its own go before. */
  headers: OutgoingHttpHeaders & { "Set-Cookie"?: string[] };
  /** The pattern of the path, where one is known, and the parameters in it. */
  route?: string;
  params: Record<string, string>;
  /** What the request came to. */
  answer?: Answered;
  /** Counts what the client has not read. */
  unread: Unread;
}

/** A request as its handlers see it: of Koa's context what asks. Answers go by `send`. */
export interface Http extends Pick<
  Koa.ExtendableContext,
  "req" | "res" | "method" | "path" | "originalUrl" | "search" | "querystring" | "headers" | "get" | "accepts"
> {
  state: State;
}

/** Connections that ask to become a WebSocket, by their request. Whoever answers otherwise leaves them HTTP. */
export const upgrades = new WeakMap<IncomingMessage, { socket: Duplex; head: Buffer }>();

/** Makes the domain's context of a request. Throws UNAUTHENTICATED for a bad credential. */
export type ContextOf = (request: IncomingMessage, asked: Asked) => Context | Promise<Context>;

/** Leaves the answer of a request to be written once everybody has had a say in its headers. */
export function send({ state }: Http, answered: Answered): void {
  state.answer = answered;
}
