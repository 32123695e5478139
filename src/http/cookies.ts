import type { IncomingMessage } from "node:http";
import type { Http } from "./exchange.js";

/** The value of a cookie that the browser sent. */
export const cookieOf = ({ headers }: IncomingMessage, name: string): string | undefined =>
  headers.cookie
    ?.split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1);

export interface CookieOptions {
  /** Below which the browser sends it. */
  path?: string;
  /** Seconds; without it the cookie ends with the browser. */
  maxAge?: number;
  /** Whether it travels over https alone. */
  isSecure: boolean;
  /** Whether scripts of the server's pages can read it. */
  isReadable?: true;
}

/**
 * Sets a cookie that forms of other sites cannot send (SameSite=Lax) and that scripts cannot read (HttpOnly), unless it is
 * `readable`.
 */
export function setCookie(
  http: Http,
  name: string,
  value: string,
  { path = "/", maxAge, isSecure: secure, isReadable }: CookieOptions,
): void {
  const parts = [`${name}=${value}`, `Path=${path}`, ...(isReadable ? [] : ["HttpOnly"]), "SameSite=Lax"];
  if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`);
  if (secure) parts.push("Secure");
  http.append("Set-Cookie", parts.join("; "));
}

export const clearCookie = (http: Http, name: string, options: CookieOptions): void =>
  setCookie(http, name, "", { ...options, maxAge: 0 });
