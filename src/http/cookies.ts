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
  secure: boolean;
}

/** Sets a cookie that scripts cannot read (HttpOnly) and that forms of other sites cannot send (SameSite=Lax). */
export function setCookie(
  http: Http,
  name: string,
  value: string,
  { path = "/", maxAge, secure }: CookieOptions,
): void {
  const parts = [`${name}=${value}`, `Path=${path}`, "HttpOnly", "SameSite=Lax"];
  if (maxAge !== undefined) parts.push(`Max-Age=${maxAge}`);
  if (secure) parts.push("Secure");
  const { headers } = http.state;
  headers["Set-Cookie"] = [...(headers["Set-Cookie"] ?? []), parts.join("; ")];
}

export const clearCookie = (http: Http, name: string, options: CookieOptions): void =>
  setCookie(http, name, "", { ...options, maxAge: 0 });
