import { getPublicSuffix } from "tldts";

/**
 * The hosts at which a server serves applications: a URL, and each name one label below the wildcard, with the scheme
 * and port of the URL.
 */
export interface Site {
  /** Scheme, host and port; empty before a proxy registers. */
  accessUrl: string;
  /** `*.apps.example.com`, or empty. */
  wildcardHostname: string;
}

/** A host as `URL` serializes it: the name in lower-case ASCII, the port empty if it is the scheme's default. */
export type Host = Pick<URL, "hostname" | "port">;

/** The format that `originOf` accepts. Completes "must be". */
export const originRule = "an http or https URL without a path";

/** Normalizes an origin: scheme, host, and port; `undefined` if the text is not one. */
export function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  const isBare = url && url.username === "" && url.password === "" && url.pathname === "/" && !/[?#\s\\]/.test(text);
  return isBare && /^https?:\/\//i.test(text) ? url.origin : undefined;
}

/** The format that `wildcardOf` accepts. Completes "must be". */
export const wildcardRule = "*. and a host name that is no public suffix, such as *.apps.example.com";

/** A host name of letters, digits, and hyphens whose last label is not numeric, as in an IPv4 address. */
const plainName = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether the private section of the public suffix list counts, besides the suffixes of registries. */
export interface SuffixOptions {
  allowPrivateDomains: boolean;
}

/**
 * Normalizes a wildcard to lower-case ASCII; `undefined` if the text is not a wildcard. Rejects public suffixes
 * (publicsuffix.org) such as `com`, below which anyone can register names.
 */
export function wildcardOf(text: string, options: SuffixOptions): string | undefined {
  const [, name] = /^\*\.([^\s/\\?#@:%[\]]{1,251})$/.exec(text) ?? [];
  const hostname = name && URL.parse(`http://${name}`)?.hostname;
  if (!hostname || hostname.length > 251 || !plainName.test(hostname)) return undefined;
  return hostname === "localhost" || getPublicSuffix(hostname, options) !== hostname ? `*.${hostname}` : undefined;
}

/** The normalized name of a host, without a trailing dot, which names the same host. */
const nameOf = ({ hostname }: Pick<URL, "hostname">): string => hostname.replace(/\.$/, "");

/** Reports whether the host is a loopback name or address. */
export const isLocal = (host: Pick<URL, "hostname">): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(nameOf(host));

/** The format that `isTrustedUrl` accepts. Completes "must be". */
export const trustedUrlRule = "an https URL, or http on the same machine, without a query";

/** Reports whether a text is the URL of a service that may receive secrets. */
export function isTrustedUrl(text: string): boolean {
  const url = URL.parse(text);
  const isSafe = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && isLocal(url)));
  return isSafe && url.username === "" && url.password === "" && !/[?#\s\\]/.test(text);
}

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Reports whether the name is below the wildcard, at any depth. */
export const isBelow = (hostname: string, wildcard: string): boolean =>
  wildcard !== "" && hostname.endsWith(wildcard.slice(1));

/** Reports whether the name is exactly one label below the wildcard. */
export const isCovered = (hostname: string, wildcard: string): boolean =>
  isBelow(hostname, wildcard) && label.test(hostname.slice(0, 1 - wildcard.length));

/** Reports whether the site serves applications at the host. */
export function serves({ accessUrl, wildcardHostname }: Site, { hostname, port }: Host): boolean {
  const home = new URL(accessUrl);
  return port === home.port && (hostname === home.hostname || isCovered(hostname, wildcardHostname));
}

/**
 * Returns the parts of a site that overlap with another site. Ports are ignored, since browsers send the cookies of a
 * host to all of its ports, except on loopback hosts, so that several servers can run on one machine for testing.
 */
export function takenParts(site: Site, other: Site): Array<keyof Site> {
  const here = new URL(site.accessUrl);
  const there = new URL(other.accessUrl);
  const isSameHost = nameOf(here) === nameOf(there) && (here.port === there.port || !isLocal(here));
  const isHostTaken = isSameHost || isCovered(nameOf(here), other.wildcardHostname);
  const isSameWildcard = site.wildcardHostname !== "" && site.wildcardHostname === other.wildcardHostname;
  const isWildcardTaken = isSameWildcard || isCovered(nameOf(there), site.wildcardHostname);
  return [...(isHostTaken ? ["accessUrl" as const] : []), ...(isWildcardTaken ? ["wildcardHostname" as const] : [])];
}
