import { isLoopback } from "./redirect-uris.js";

/** Where a redirect URI leads (RFC 8252 §7). */
export const RedirectKind = {
  /** A website. */
  WEB: "web",
  /** A program that listens on the machine of the user. */
  LOOPBACK: "loopback",
  /** A program that the system of the user starts for the scheme of the URI. */
  PRIVATE_SCHEME: "private_scheme",
} as const;
export type RedirectKind = (typeof RedirectKind)[keyof typeof RedirectKind];

/** The program or site that gets the result of a request. */
export interface RedirectTarget {
  kind: RedirectKind;
  /** Its host, in ASCII and with a port unless that is the default; its scheme for a private one. */
  name: string;
}

/** The target of a registered redirect URI. */
export function redirectTarget(uri: string): RedirectTarget {
  const { protocol, host } = new URL(uri);
  if (!/^https?:$/.test(protocol)) return { kind: "private_scheme", name: protocol.slice(0, -1) };
  return { kind: isLoopback(uri) ? "loopback" : "web", name: host };
}

/** Parameters of responses (RFC 6749 §4.1.2, RFC 9207 §2), which registered URIs cannot preset. */
const ours = new Set(["code", "state", "iss", "error", "error_description", "error_uri"]);

const isOurs = (pair: string) => ours.has([...new URLSearchParams(pair).keys()][0] ?? "");

/** Adds parameters to the query of a redirect URI. Undefined ones are left out; the URI is otherwise unchanged. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const [, base, query = ""] = /^([^?]*)\??(.*)$/s.exec(uri)!;
  const kept = query.split("&").filter((pair) => pair !== "" && !isOurs(pair));
  const added = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${base}?${[...kept, ...added].join("&")}`;
}
