import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { Cidr } from "../runtime/config.js";
import { type Passage, passageThrough } from "./outbound-proxy.js";
import { foreignJson, isTooDeep } from "../runtime/json.js";

/** Calls other servers, with the signature of the Fetch Standard. Resolves after the whole body was received. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface OutsideOptions {
  /**
   * URL of the HTTP proxy that calls go through; `undefined` for none. The proxy resolves names, so that only literal
   * addresses and names of this machine are checked here. This machine is called directly.
   */
  proxy: string | undefined;
  /** Networks that may be called in addition to public addresses. */
  allow?: readonly Cidr[];
  /** Origins that the operator configured: allowed at any address. */
  named?: readonly string[];
  /** Decides which addresses may be called. Default: public addresses and those in `allow`. */
  permits?: (address: string) => boolean;
  /** Milliseconds from the call to the last byte of the response, redirects included. Default: 10,000. */
  timeout?: number;
  /** Milliseconds to connect, TLS handshake included. Default: `timeout`. */
  connectTimeout?: number;
  /** Rejects redirects to other origins. Default: false. */
  keepsOrigin?: boolean;
  /**
   * Milliseconds for which connections stay open for further calls of the same origin: for many calls that may arrive twice,
   * since one is sent again if the server has closed its connection meanwhile. Default: each call has a connection of its own.
   */
  keepsConnections?: number;
  /** Maximum size of a response body, in bytes. Default: that of foreign JSON. */
  bodyLimit?: number;
  /** Resolves a host name to its addresses. Not used for names that the proxy resolves. */
  resolve?: (name: string) => Promise<string[]>;
}

/** The failure of a call. The message is for operators: it may contain internal names and addresses. */
export class OutsideError extends Error {
  /** Whether the request may have reached the server: a connection was established. */
  wasSent = false;

  constructor(
    readonly reason: "refused" | "unreachable" | "timeout" | "too_large",
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = "OutsideError";
  }
}

const maxRedirects = 5;

/**
 * Creates the client for URLs that users or other servers supply. It connects only to public addresses and those in
 * `allow`, or to those that `permits` accepts. Each name is resolved once, its addresses are filtered, and the
 * connection uses one that passed, which prevents DNS rebinding. The same checks apply to every redirect.
 */
export function outsideFetch({
  proxy,
  allow = [],
  named = [],
  permits = (address) => mayCall(address, allow),
  timeout = 10_000,
  connectTimeout = timeout,
  keepsOrigin = false,
  keepsConnections = 0,
  bodyLimit = foreignJson.bytes,
  resolve = addressesOf,
}: OutsideOptions): Fetch {
  const wayTo = guardAddresses({ proxy, named, permits, resolve });
  const agents = keepsConnections > 0 ? agentsKeeping(keepsConnections) : undefined;

  return async (target, init = {}) => {
    const deadline = AbortSignal.timeout(timeout);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    const progress = { isConnected: false };
    try {
      let request = asRequest(target, init);
      for (let redirects = 0; ; redirects++) {
        const response = await exchange(request, { wayTo, agents, signal, connectTimeout, bodyLimit, progress });
        const next = followRedirect(request, response, init.redirect);
        if (!next) return response;
        if (keepsOrigin && new URL(next.url).origin !== new URL(request.url).origin)
          throw rejection("The server redirects to another origin.");
        if (redirects === maxRedirects) throw rejection(`More than ${maxRedirects} redirects.`);
        request = next;
      }
    } catch (error) {
      if (!(error instanceof OutsideError) && init.signal?.aborted) throw error;
      const failure = asFailure(error, deadline.aborted ? `No response within ${timeout} ms.` : undefined);
      failure.wasSent = progress.isConnected;
      throw failure;
    }
  };
}

function asFailure(error: unknown, timedOut: string | undefined): OutsideError {
  if (error instanceof OutsideError) return error;
  return timedOut === undefined
    ? new OutsideError("unreachable", (error as Error).message, error)
    : new OutsideError("timeout", timedOut, error);
}

/** Opens a response without end, such as a stream of events. Resolves when its headers were received. */
export type OpenStream = (
  url: string,
  signal: AbortSignal,
  headers?: Record<string, string>,
) => Promise<IncomingMessage>;

/** Creates the client for streams, with the address checks of `outsideFetch`. Redirects are not followed; no proxy is used. */
export function outsideStreams({
  permits,
  connectTimeout,
}: Required<Pick<OutsideOptions, "permits" | "connectTimeout">>): OpenStream {
  const wayTo = guardAddresses({ proxy: undefined, named: [], permits, resolve: addressesOf });
  return async (url, signal, more) => {
    const headers = { ...more, accept: "text/event-stream" };
    try {
      const progress = { isConnected: false };
      return await send(asRequest(url, { headers }), { wayTo, signal, connectTimeout, progress });
    } catch (error) {
      if (signal.aborted) throw error;
      throw asFailure(error, undefined);
    }
  };
}

const rejection = (message: string) => new OutsideError("refused", message);

/** Parses a URL as the Fetch Standard does: normalizes the host and rejects embedded credentials. */
function asRequest(target: string | URL, init: RequestInit): Request {
  let request: Request;
  try {
    request = new Request(target, { ...init, signal: null, redirect: "manual" });
  } catch (error) {
    throw new OutsideError("refused", (error as Error).message, error);
  }
  const { protocol } = new URL(request.url);
  if (protocol !== "http:" && protocol !== "https:") throw rejection(`${protocol} is neither http nor https.`);
  return request;
}

/** How to reach the host of a URL: at the addresses that may be called, or through the proxy. Throws if it may not. */
type WayTo = (url: URL) => Promise<Way>;
type Way = { addresses: LookupAddress[] } | { proxy: URL };

function guardAddresses({
  proxy: proxyUrl,
  named,
  permits,
  resolve,
}: Required<Pick<OutsideOptions, "named" | "permits" | "resolve">> & Pick<OutsideOptions, "proxy">): WayTo {
  const proxy = proxyUrl === undefined ? undefined : new URL(proxyUrl);
  return async ({ hostname, origin }) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const literal = literalAddresses(host);
    if (proxy && !literal) return { proxy };
    const found = literal ?? (await resolve(host));
    const passed = named.includes(origin) ? found : found.filter(permits);
    if (passed.length === 0) throw rejection(`${host} has no address that may be called.`);
    if (proxy && !passed.every(isLoopback)) return { proxy };
    return { addresses: passed.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })) };
  };
}

/** The addresses of a host that needs no resolver: of an address, or of a name of this machine. */
function literalAddresses(host: string): string[] | undefined {
  if (ipaddr.isValid(host)) return [host];
  return localNames.test(host) ? loopbackAddresses : undefined;
}

const loopbackAddresses = ["127.0.0.1", "::1"];

const isLoopback = (address: string): boolean => ipaddr.process(address).range() === "loopback";

/** Names of the loopback interface (RFC 6761 §6.3), which not every resolver knows. */
export const localNames = /(^|\.)localhost\.?$/i;

/** The addresses of a host name. */
export async function addressesOf(name: string): Promise<string[]> {
  if (localNames.test(name)) return loopbackAddresses;
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Public addresses that clouds reserve for platform services of virtual machines. */
const notPublic = new Set(["168.63.129.16"]);

const globalUnicast = ipaddr.parseCIDR("2000::/3");

/** Reports whether an address is public or in one of the networks. IPv4-mapped IPv6 addresses are treated as IPv4. */
export function mayCall(address: string, allow: readonly Cidr[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  if (allow.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match([network, bits]))) return true;
  const isGlobal = parsed.kind() === "ipv4" || parsed.match(globalUnicast);
  return isGlobal && parsed.range() === "unicast" && !notPublic.has(parsed.toString());
}

/** The connections that stay open, by the protocol. Each was opened to an address that passed the checks. */
interface Agents {
  "http:": HttpAgent;
  "https:": HttpsAgent;
}

function agentsKeeping(timeout: number): Agents {
  const options = { keepAlive: true, timeout, maxFreeSockets: 8 };
  return { "http:": new HttpAgent(options), "https:": new HttpsAgent(options) };
}

interface Exchange {
  wayTo: WayTo;
  agents?: Agents | undefined;
  signal: AbortSignal;
  connectTimeout: number;
  bodyLimit: number;
  progress: { isConnected: boolean };
}

/** Sends one request and reads the whole response. */
async function exchange(request: Request, context: Exchange): Promise<Response> {
  const message = await send(request, context);
  const body = await readAll(message, context.bodyLimit);
  if (isTooDeepJson(body.toString("latin1")))
    throw new OutsideError("too_large", `The response is nested deeper than ${foreignJson.levels} levels.`);
  return asResponse(message, body);
}

/** Sends one request. Resolves to the response as soon as its headers were received. */
async function send(request: Request, context: Omit<Exchange, "bodyLimit">): Promise<IncomingMessage> {
  const { wayTo, agents, signal, connectTimeout, progress } = context;
  const url = new URL(request.url);
  const way = await Promise.race([wayTo(url), endOf(signal)]);
  const body = Buffer.from(await request.arrayBuffer());
  const headers = {
    ...Object.fromEntries(request.headers),
    "accept-encoding": "identity",
    // Node.js does not send it with a DELETE.
    ...(body.length > 0 && { "content-length": String(body.length) }),
  };
  const { begin, target, options } = await passageOf(way, url, signal, connectTimeout);
  /** Whether a connection that was kept had ended before the request could reach the server. */
  let isStale = false;
  const attempt = (more: Pick<RequestOptions, "agent">) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const all = { ...options, ...more, method: request.method, headers: { ...headers, ...options.headers }, signal };
      let hasResponse = false;
      const onResponse = (response: IncomingMessage) => {
        hasResponse = true;
        resolve(response);
      };
      const sent = begin(target, all, onResponse).on("error", (error) => {
        isStale = sent.reusedSocket && !hasResponse && !signal.aborted;
        reject(error);
      });
      const isSecured = url.protocol === "https:" || target.protocol === "https:";
      limitConnecting(sent, isSecured ? "secureConnect" : "connect", connectTimeout, progress);
      sent.end(body);
    });
  const agent = agents && "addresses" in way && agents[url.protocol as keyof Agents];
  const message = await attempt(agent ? { agent } : {}).catch((error: unknown) => {
    if (!isStale) throw error;
    return attempt({ agent: false });
  });
  if (message.statusCode !== 407 || "addresses" in way || url.protocol === "https:") return message;
  message.destroy();
  throw new OutsideError("unreachable", "The outbound proxy requires other credentials.");
}

/** How to begin a request. Opens a tunnel first, where the way leads through a proxy and the server has TLS. */
async function passageOf(way: Way, url: URL, signal: AbortSignal, connectTimeout: number): Promise<Passage> {
  if ("addresses" in way) {
    const begin = url.protocol === "https:" ? requestHttps : requestHttp;
    return { begin, target: url, options: { lookup: always(way.addresses), agent: false } };
  }
  const deadline = AbortSignal.timeout(connectTimeout);
  try {
    return await passageThrough(way.proxy, url, AbortSignal.any([signal, deadline]));
  } catch (error) {
    if (signal.aborted || !deadline.aborted) throw error;
    throw new OutsideError("timeout", `No connection through the outbound proxy within ${connectTimeout} ms.`, error);
  }
}

/** Destroys a request whose connection is not established in time, and notes when it is. */
function limitConnecting(
  sent: ClientRequest,
  established: string,
  timeout: number,
  progress: Exchange["progress"],
): void {
  const fail = () => sent.destroy(new OutsideError("timeout", `No connection within ${timeout} ms.`));
  const timer = setTimeout(fail, timeout).unref();
  const onEstablished = () => {
    clearTimeout(timer);
    progress.isConnected = true;
  };
  sent.once("socket", (socket) => {
    if (sent.reusedSocket) onEstablished();
    else socket.once(established, onEstablished);
  });
  sent.once("close", () => clearTimeout(timer));
}

/** Returns a lookup function that ignores the name and yields the addresses that passed the checks. */
const always =
  (addresses: LookupAddress[]): LookupFunction =>
  (_, { all }, done) => {
    const [{ address, family }] = addresses as [LookupAddress];
    if (all) done(null, addresses);
    else done(null, address, family);
  };

const endOf = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.throwIfAborted();
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });

async function readAll(message: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new OutsideError("too_large", `The response is larger than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Whether a body is JSON with too many levels, whatever its type says. Decoders skip a byte order mark. */
const isTooDeepJson = (bytes: string): boolean => /^(\xef\xbb\xbf)?[ \t\r\n]*[[{]/.test(bytes) && isTooDeep(bytes);

/** Statuses of responses without a body (Fetch Standard §2.2.6). */
const bodiless = new Set([204, 205, 304]);

function asResponse({ statusCode = 0, headersDistinct }: IncomingMessage, body: Buffer): Response {
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response(bodiless.has(statusCode) ? null : new Uint8Array(body), { status: statusCode, headers });
}

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Headers that are removed when a redirect leads to another origin. */
const credentialHeaders = ["authorization", "cookie", "proxy-authorization"];

/** The request that follows a redirect, or `undefined` if there is none to follow. Only GET and HEAD are redirected. */
function followRedirect(
  request: Request,
  response: Response,
  mode: RequestInit["redirect"] = "follow",
): Request | undefined {
  const location = response.headers.get("location");
  if (mode === "manual" || !redirectStatuses.has(response.status) || location === null) return undefined;
  if (mode === "error") throw rejection("The server redirects.");
  if (request.method !== "GET" && request.method !== "HEAD") throw rejection(`A ${request.method} is not redirected.`);
  const from = new URL(request.url);
  const to = URL.parse(location, from.href);
  if (!to) throw rejection("The server redirects to an invalid URL.");
  const headers = new Headers(request.headers);
  if (to.origin !== from.origin) for (const name of credentialHeaders) headers.delete(name);
  return asRequest(to, { method: request.method, headers });
}
