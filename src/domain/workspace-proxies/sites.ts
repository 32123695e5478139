import { getPublicSuffix } from "tldts";

/**
 * Where somebody serves applications: at a URL, and on each name one label below the wildcard, with the scheme and port
 * of the URL.
 */
export interface Site {
  /** Scheme, host and port; empty before a proxy registers. */
  accessUrl: string;
  /** `*.apps.example.com`, or empty. */
  wildcardHostname: string;
}

/** A host as `URL` writes it: the name in lower case and ASCII, the port empty where it is the scheme's own. */
export type Host = Pick<URL, "hostname" | "port">;

/** What `wildcardOf` reads. Follows "must be". */
export const wildcardRule = "*. and a host name that is no public suffix, such as *.apps.example.com";

/** A host name of letters, digits and hyphens, whose end cannot be taken for an address. */
const plainName = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whose suffixes count: those of registries alone, or also those that companies give to their customers. */
export interface SuffixOptions {
  allowPrivateDomains: boolean;
}

/**
 * The wildcard as it is compared, in lower case and ASCII; `undefined` if the text is none. Below a public suffix
 * (publicsuffix.org) such as `com` anyone gets a name: it can be the wildcard of nobody.
 */
export function wildcardOf(text: string, options: SuffixOptions): string | undefined {
  const [, name] = /^\*\.([^\s/\\?#@:%[\]]{1,251})$/.exec(text) ?? [];
  const hostname = name && URL.parse(`http://${name}`)?.hostname;
  if (!hostname || hostname.length > 251 || !plainName.test(hostname)) return undefined;
  return hostname === "localhost" || getPublicSuffix(hostname, options) !== hostname ? `*.${hostname}` : undefined;
}

/** The name of a host as it is compared. `URL` writes it in lower case; a dot at its end leads to the same host. */
const nameOf = ({ hostname }: Pick<URL, "hostname">): string => hostname.replace(/\.$/, "");

/** Whether what is sent there stays on this machine. */
export const isLocal = (host: Pick<URL, "hostname">): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/.test(nameOf(host));

const label = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether the name lies below the wildcard, however deep. */
export const isBelow = (hostname: string, wildcard: string): boolean =>
  wildcard !== "" && hostname.endsWith(wildcard.slice(1));

/** Whether the name is one label below the wildcard. */
export const isCovered = (hostname: string, wildcard: string): boolean =>
  isBelow(hostname, wildcard) && label.test(hostname.slice(0, 1 - wildcard.length));

/** Whether applications are served there. */
export function serves({ accessUrl, wildcardHostname }: Site, { hostname, port }: Host): boolean {
  const home = new URL(accessUrl);
  return port === home.port && (hostname === home.hostname || isCovered(hostname, wildcardHostname));
}

/**
 * The parts of a site that another one has already, in full or in part: no name may belong to two. Ports do not matter,
 * since browsers send the cookies of a host to all of its ports; but one machine may try out several servers.
 */
export function takenParts(site: Site, other: Site): Array<keyof Site> {
  const [here, there] = [new URL(site.accessUrl), new URL(other.accessUrl)];
  const isSameHost = nameOf(here) === nameOf(there) && (here.port === there.port || !isLocal(here));
  const isHostTaken = isSameHost || isCovered(nameOf(here), other.wildcardHostname);
  const isSameWildcard = site.wildcardHostname !== "" && site.wildcardHostname === other.wildcardHostname;
  const isWildcardTaken = isSameWildcard || isCovered(nameOf(there), site.wildcardHostname);
  return [...(isHostTaken ? ["accessUrl" as const] : []), ...(isWildcardTaken ? ["wildcardHostname" as const] : [])];
}
