import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";
import type { Cidr } from "../../config/config.js";

/** Calls other servers by the signature of the Fetch Standard. Answers are complete when it resolves. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

export interface OutsideOptions {
  /** Networks that may be called although they are not public. */
  allow?: readonly Cidr[];
  /** Origins that the operator named: they may be called wherever they are. */
  named?: readonly string[];
  /** Which addresses may be called, if not those that are public or in `allow`. */
  permits?: (address: string) => boolean;
  /** Milliseconds from the call to the last byte of its answer, redirects included. */
  timeout?: number;
  /** Bytes of an answer's body at most. */
  bodyLimit?: number;
  /** Finds the addresses of a name. */
  resolve?: (name: string) => Promise<string[]>;
}

/** Why a call has no answer. The message is for operators: it may tell of names and addresses inside. */
export class OutsideError extends Error {
  constructor(
    readonly reason: "refused" | "unreachable" | "timeout" | "too_large",
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
    this.name = "OutsideError";
  }
}

const mostRedirects = 5;

/**
 * Makes the client for URLs that others chose. It connects to public addresses only, and to those of `allow`, or to
 * what `permits` lets pass: a name is resolved once, every address is looked at, and the connection goes to one that
 * passed, so that a name cannot mean something else a moment later. The same holds for every redirect.
 */
export function outsideFetch({
  allow = [],
  named = [],
  permits = (address) => mayCall(address, allow),
  timeout = 10_000,
  bodyLimit = 1024 * 1024,
  resolve = addressesOf,
}: OutsideOptions = {}): Fetch {
  const addressesFor = guarded({ named, permits, resolve });

  return async (target, init = {}) => {
    const deadline = AbortSignal.timeout(timeout);
    const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
    try {
      let request = asRequest(target, init);
      for (let redirects = 0; ; redirects++) {
        const answer = await exchange(request, { addressesFor, signal, bodyLimit });
        const next = following(request, answer, init.redirect);
        if (!next) return answer;
        if (redirects === mostRedirects) throw refusal(`More than ${mostRedirects} redirects.`);
        request = next;
      }
    } catch (error) {
      if (error instanceof OutsideError || init.signal?.aborted) throw error;
      if (deadline.aborted) throw new OutsideError("timeout", `No answer within ${timeout} ms.`, error);
      throw new OutsideError("unreachable", (error as Error).message, error);
    }
  };
}

const refusal = (message: string) => new OutsideError("refused", message);

/** Reads an address as the Fetch Standard does: its spellings of a host become one, and credentials are refused. */
function asRequest(target: string | URL, init: RequestInit): Request {
  let request: Request;
  try {
    request = new Request(target, { ...init, signal: null, redirect: "manual" });
  } catch (error) {
    throw new OutsideError("refused", (error as Error).message, error);
  }
  const { protocol } = new URL(request.url);
  if (protocol !== "http:" && protocol !== "https:") throw refusal(`${protocol} is neither http nor https.`);
  return request;
}

/** What the host of a URL stands for that may be called. */
type Addresses = (url: URL) => Promise<LookupAddress[]>;

function guarded({
  named,
  permits,
  resolve,
}: Required<Pick<OutsideOptions, "named" | "permits" | "resolve">>): Addresses {
  return async ({ hostname, origin }) => {
    const host = hostname.replace(/^\[|\]$/g, "");
    const found = ipaddr.isValid(host) ? [host] : await resolve(host);
    const passed = named.includes(origin) ? found : found.filter(permits);
    if (passed.length === 0) throw refusal(`${host} has no address that may be called.`);
    return passed.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
}

/** Not every resolver knows that these names mean this machine (RFC 6761 §6.3). */
const localNames = /(^|\.)localhost\.?$/i;

async function addressesOf(name: string): Promise<string[]> {
  if (localNames.test(name)) return ["127.0.0.1", "::1"];
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

/** Public addresses of which clouds make something of their own: platform services of virtual machines. */
const notPublic = new Set(["168.63.129.16"]);

const globalUnicast = ipaddr.parseCIDR("2000::/3");

/** Whether an address is public, or in one of the networks. IPv6 spellings of IPv4 addresses count as those. */
export function mayCall(address: string, allow: readonly Cidr[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address.replace(/%.*$/, ""));
  if (allow.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match([network, bits]))) return true;
  const isGlobal = parsed.kind() === "ipv4" || parsed.match(globalUnicast);
  return isGlobal && parsed.range() === "unicast" && !notPublic.has(parsed.toString());
}

interface Exchange {
  addressesFor: Addresses;
  signal: AbortSignal;
  bodyLimit: number;
}

/** Sends one request on a connection of its own, and reads the whole answer. */
async function exchange(request: Request, { addressesFor, signal, bodyLimit }: Exchange): Promise<Response> {
  const url = new URL(request.url);
  const addresses = await Promise.race([addressesFor(url), endOf(signal)]);
  const body = Buffer.from(await request.arrayBuffer());
  const headers = { ...Object.fromEntries(request.headers), "accept-encoding": "identity" };
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const message = await new Promise<IncomingMessage>((answered, failed) => {
    const options = { method: request.method, headers, lookup: always(addresses), signal, agent: false };
    send(url, options, answered).on("error", failed).end(body);
  });
  return asResponse(message, await readAll(message, bodyLimit));
}

/** Answers every question for an address with those that were looked at. */
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
    if (size > limit) throw new OutsideError("too_large", `The answer is larger than ${limit} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Statuses of answers that have no body (Fetch Standard §2.2.6). */
const bodiless = new Set([204, 205, 304]);

function asResponse({ statusCode = 0, headersDistinct }: IncomingMessage, body: Buffer): Response {
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Response(bodiless.has(statusCode) ? null : new Uint8Array(body), { status: statusCode, headers });
}

const redirecting = new Set([301, 302, 303, 307, 308]);

/** What does not go on to another origin. */
const ofOrigin = ["authorization", "cookie", "proxy-authorization"];

/** The request that a redirect asks for. What does more than read is not sent on to another place. */
function following(request: Request, answer: Response, wish: RequestInit["redirect"] = "follow"): Request | undefined {
  const location = answer.headers.get("location");
  if (wish === "manual" || !redirecting.has(answer.status) || location === null) return undefined;
  if (wish === "error") throw refusal("The server redirects.");
  if (request.method !== "GET" && request.method !== "HEAD") throw refusal(`A ${request.method} is not redirected.`);
  const from = new URL(request.url);
  const to = URL.parse(location, from.href);
  if (!to) throw refusal("The server redirects to nowhere.");
  const headers = new Headers(request.headers);
  if (to.origin !== from.origin) for (const name of ofOrigin) headers.delete(name);
  return asRequest(to, { method: request.method, headers });
}
