import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Services } from "../domain/kernel/context.js";
import { type Actor, anonymous } from "../domain/kernel/actor.js";
import { forbidden } from "../domain/kernel/errors.js";
import { cookieOf } from "./cookies.js";

export const sessionHeader = "service-session-token";
export const sessionCookie = "service_session_token";
const proxyHeader = "service-proxy-token";

/** Finds the text of a credential in a request; the first that is there counts, and if it is bad no later one is tried. */
type Reader = (request: IncomingMessage, accessUrl: string, page?: PageRequest) => string | undefined;

/** A request for a page. Other sites may link to it; its forms carry the CSRF token in a field. */
export interface PageRequest {
  csrfToken?: string;
}

const readers: Reader[] = [
  ({ headers }) => (headers[sessionHeader] as string | undefined) || undefined,
  ({ headers }) => /^bearer +(.*)$/i.exec(headers.authorization ?? "")?.[1],
  (request, accessUrl, page) =>
    (page && isNavigation(request)) || fromOurPages(request, accessUrl) ? cookieOf(request, sessionCookie) : undefined,
];

/** Who sent a request: at once while the snapshot of the credential is fresh. Throws UNAUTHENTICATED for a bad one. */
export function actorOf(services: Services, request: IncomingMessage, page?: PageRequest): Actor | Promise<Actor> {
  for (const read of readers) {
    const token = read(request, services.config.accessUrl, page);
    if (token === undefined) continue;
    if (read !== readers[2]) return services.credentials.authenticate(token);
    checkCsrf(request, token, page?.csrfToken ?? (request.headers["x-csrf-token"] as string | undefined));
    return services.credentials.authenticateUser(token);
  }
  const proxyToken = request.headers[proxyHeader] as string | undefined;
  return proxyToken ? services.credentials.authenticateProxy(proxyToken) : anonymous;
}

export const sentCredential = (request: IncomingMessage, accessUrl: string): boolean =>
  readers.some((read) => read(request, accessUrl) !== undefined) || Boolean(request.headers[proxyHeader]);

/** Browsers send cookies with requests that other sites cause; only our own pages may use them, or change them. */
export function fromOurPages({ headers }: IncomingMessage, accessUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  return site !== undefined ? site === "same-origin" : headers.origin === accessUrl;
}

const safe = new Set(["GET", "HEAD", "OPTIONS"]);

/** Somebody goes to a page, whatever led there, as far as the browser tells. */
const isNavigation = ({ method = "", headers }: IncomingMessage) =>
  safe.has(method) && (headers["sec-fetch-site"] === undefined || headers["sec-fetch-mode"] === "navigate");

/** The token that pages of a session put into their forms. */
export const csrfTokenOf = (sessionToken: string) =>
  createHmac("sha256", sessionToken).update("csrf").digest("base64url");

function checkCsrf({ method = "" }: IncomingMessage, sessionToken: string, csrfToken = ""): void {
  if (safe.has(method)) return;
  const given = Buffer.from(csrfToken);
  const expected = Buffer.from(csrfTokenOf(sessionToken));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw forbidden("Forbidden.", { detail: "The CSRF token is missing or wrong. Reload the page." });
  }
}
