// Protects what browsers send with cookies against requests that pages of other sites cause.
import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { forbidden } from "../domain/kernel/errors.js";

/** Tells scripts of the origin the CSRF token of the session. */
export const csrfCookie = "service_csrf_token";

/** Whether a page of this server sent the request. Browsers send cookies with cross-site requests as well. */
export function isFromOurPages({ headers }: IncomingMessage, accessUrl: string): boolean {
  const site = headers["sec-fetch-site"];
  return site !== undefined ? site === "same-origin" : headers.origin === accessUrl;
}

const safe = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether a browser opens a page, from wherever the link is. Browsers without Fetch Metadata do not say. */
export const isNavigation = ({ method = "", headers }: IncomingMessage) =>
  safe.has(method) && (headers["sec-fetch-site"] === undefined || headers["sec-fetch-mode"] === "navigate");

/** The CSRF token of a session, for the forms of its pages. */
export const csrfTokenOf = (sessionToken: string) =>
  createHmac("sha256", sessionToken).update("csrf").digest("base64url");

/** Throws FORBIDDEN for an unsafe request without the CSRF token of the session whose cookie it has. */
export function checkCsrf({ method = "" }: IncomingMessage, sessionToken: string, csrfToken = ""): void {
  if (safe.has(method)) return;
  const given = Buffer.from(csrfToken);
  const expected = Buffer.from(csrfTokenOf(sessionToken));
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw forbidden("Forbidden.", { detail: "The CSRF token is missing or wrong. Reload the page." });
  }
}
