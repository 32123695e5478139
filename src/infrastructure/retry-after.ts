import { databaseTime } from "../runtime/clock.js";

/** The value of `Retry-After` in milliseconds from now (RFC 9110 §10.2.3): seconds, or a date, which may have passed. */
export function retryAfterIn(headers: Headers): number | undefined {
  const value = headers.get("retry-after") ?? "";
  const wait = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - databaseTime();
  return Number.isNaN(wait) ? undefined : wait;
}
