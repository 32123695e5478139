import { quote } from "../kernel/errors.js";
import { longestUrl } from "../../entities/lengths.js";

/** Maximum number of redirect URIs of an application, and bytes of each. */
export const mostUris = 32;
export const longestUri = longestUrl;

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"]);

/** The schemes of applications that redirect URIs may have: any, those with a dot, or these. In lower case. */
export type RedirectSchemes = "any" | "dotted" | readonly string[];

/** Who registers redirect URIs: administrators may use http with any host, others only with loopback hosts. */
export type Registrant = "administrator" | "anybody";

/** Who registers redirect URIs, and the schemes that this deployment takes. */
export interface RedirectRules {
  registrant: Registrant;
  schemes: RedirectSchemes;
}

/**
 * Schemes that are no application's own: browsers run or show what they lead to, or systems open programs with them that
 * are not meant to get codes. They are rejected whatever follows.
 */
const refusedSchemes = new Set(
  [
    "javascript data vbscript file blob about filesystem intent view-source ftp ftps sftp ssh telnet ldap ldaps smb nfs",
    "rdp vnc gopher jar cid mid urn content market ws wss mailto tel sms callto sip sips feed webcal chrome",
    "chrome-extension moz-extension resource googlechrome microsoft-edge search-ms",
  ].flatMap((line) => line.split(" ")),
);
const refusedPrefixes = ["ms-", "x-apple"];

/** Reversed domain names (RFC 8252 §7.1), and names without a dot, which some editors register. */
const dottedScheme = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+$/;
const plainScheme = /^[a-z][a-z0-9+-]*$/;

/** Whether a scheme, in lower case, can be that of an application, in some URI. */
export const isPrivateScheme = (scheme: string): boolean =>
  (dottedScheme.test(scheme) || plainScheme.test(scheme)) &&
  !/^https?$/.test(scheme) &&
  !refusedSchemes.has(scheme) &&
  !refusedPrefixes.some((prefix) => scheme.startsWith(prefix));

/** The violated rule of a redirect URI as a sentence that ends with the URI; `undefined` for a valid one. */
export function redirectUriProblem(text: string, rules: RedirectRules): string | undefined {
  const rule = violatedRule(text, rules);
  return rule && `${rule}: ${quote(text)}.`;
}

function violatedRule(text: string, { registrant, schemes }: RedirectRules): string | undefined {
  if (Buffer.byteLength(text) > longestUri) return `Must be at most ${longestUri} bytes long`;
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes("\\") || text.includes("*"))
    return "Must be printable ASCII without spaces, backslashes and wildcards";
  const url = URL.parse(text);
  if (!url) return "Must be an absolute URI";
  const scheme = url.protocol.slice(0, -1);
  if (text.includes("#")) return "Must not have a fragment";
  if (/^[^/?]*\/\/[^/?]*@/.test(text)) return "Must not have user information";
  if (scheme !== "http" && scheme !== "https") return violatedSchemeRule(scheme, url.host, schemes);
  if (!/^https?:\/\/[^/]/i.test(text)) return "Must be an absolute URI";
  if (scheme === "http" && registrant === "anybody" && !loopbackHosts.has(url.hostname))
    return "Must have the scheme https, or http with 127.0.0.1, [::1] or localhost";
  return undefined;
}

/** Schemes with a dot are unlikely to be another program's. Those without one must at least name an application. */
function violatedSchemeRule(scheme: string, host: string, schemes: RedirectSchemes): string | undefined {
  if (!isPrivateScheme(scheme)) return "Must have the scheme https, http, or that of an application";
  const isDotted = scheme.includes(".");
  if (schemes === "dotted" && !isDotted)
    return "Must have a scheme with a dot, such as com.example.app, unless it is https or http";
  if (typeof schemes === "object" && !schemes.includes(scheme))
    return `Must have one of the schemes ${["https", "http", ...schemes].join(", ")}`;
  if (!isDotted && host === "") return "Must have a host after a scheme without a dot, such as example://host/path";
  return undefined;
}

/** The problems of a list of redirect URIs, by the index of each; one without an index is about the list. */
export function redirectUrisProblems(uris: readonly string[], rules: RedirectRules): Map<number | undefined, string> {
  const problems = new Map<number | undefined, string>();
  if (uris.length > mostUris) problems.set(undefined, `Must be at most ${mostUris} URIs.`);
  for (const [index, uri] of uris.slice(0, mostUris).entries()) {
    const problem = redirectUriProblem(uri, rules);
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
