/** Maximum number of redirect URIs of an application, and bytes of each. */
const mostUris = 32;
const longestUri = 2048;

/**
 * Schemes that belong to an application: reversed domain names (RFC 8252 §7.1). Schemes without a dot may be those of any
 * program that the system opens links with.
 */
const privateScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$/;

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** Who registers redirect URIs: administrators may use http with any host, others only with loopback hosts. */
export type Registrant = "administrator" | "anybody";

/** The violated rule of a redirect URI as a sentence; `undefined` for a valid one. */
export function redirectUriProblem(text: string, registrant: Registrant): string | undefined {
  if (Buffer.byteLength(text) > longestUri) return `Must be at most ${longestUri} bytes long.`;
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes("\\") || text.includes("*"))
    return "Must be printable ASCII without spaces, backslashes and wildcards.";
  const url = URL.parse(text);
  if (!url) return "Must be an absolute URI.";
  const scheme = url.protocol.slice(0, -1);
  if (text.includes("#")) return "Must not have a fragment.";
  if (/^[^/?]*\/\/[^/?]*@/.test(text)) return "Must not have user information.";
  if (scheme !== "http" && scheme !== "https")
    return privateScheme.test(scheme)
      ? undefined
      : "Must have the scheme https, http, or that of an application, with a dot such as in com.example.app.";
  if (!/^https?:\/\/[^/]/i.test(text)) return "Must be an absolute URI.";
  if (scheme === "http" && registrant === "anybody" && !loopbackHosts.has(url.hostname))
    return "Must have the scheme https, or http with 127.0.0.1, [::1] or localhost.";
  return undefined;
}

/** The problems of a list of redirect URIs, by the index of each; one without an index is about the list. */
export function redirectUrisProblems(uris: readonly string[], registrant: Registrant): Map<number | undefined, string> {
  const problems = new Map<number | undefined, string>();
  if (uris.length > mostUris) problems.set(undefined, `Must be at most ${mostUris} URIs.`);
  for (const [index, uri] of uris.slice(0, mostUris).entries()) {
    const problem = redirectUriProblem(uri, registrant);
    if (problem !== undefined) problems.set(index, problem);
  }
  return problems;
}

/** Whether a redirect URI is meant for a program on the machine of the user (RFC 8252 §7.3). */
const isLoopback = (uri: string): boolean => {
  const url = URL.parse(uri);
  return url?.protocol === "http:" && loopbackHosts.has(url.hostname);
};

/** Removes the port, which programs on loopback addresses choose when they start. */
const withoutPort = (uri: string) =>
  uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{0,5}(?=[/?]|$)/i, "$1");

/**
 * Whether a redirect URI is registered: equal to one, byte by byte, except for the port of http on a loopback host
 * (RFC 8252 §7.3, RFC 9700 §2.1).
 */
export const isRegistered = (registered: readonly string[], uri: string): boolean =>
  registered.includes(uri) ||
  (isLoopback(uri) && registered.some((each) => isLoopback(each) && withoutPort(each) === withoutPort(uri)));

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
  if (!/^https?:/.test(protocol)) return { kind: "private_scheme", name: protocol.slice(0, -1) };
  return { kind: isLoopback(uri) ? "loopback" : "web", name: host };
}

/** Parameters of responses (RFC 6749 §4.1.2, RFC 9207 §2), which registered URIs cannot preset. */
const ours = new Set(["code", "state", "iss", "error", "error_description", "error_uri"]);

const isOurs = (pair: string) => [...new URLSearchParams(pair).keys()].some((name) => ours.has(name));

/** Adds parameters to the query of a redirect URI. Undefined ones are left out; the URI is otherwise unchanged. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const [base, ...rest] = uri.split("?") as [string, ...string[]];
  const query = rest.join("?").split("&");
  const kept = query.filter((pair) => pair !== "" && !isOurs(pair));
  const added = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value.toWellFormed())}`,
  );
  return `${base}?${[...kept, ...added].join("&")}`;
}
