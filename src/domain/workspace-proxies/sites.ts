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
export const wildcardRule = "*. and a host name, such as *.apps.example.com";

/** A host name of letters, digits and hyphens, whose end cannot be taken for an address. */
const plainName = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*(?!\d+$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** The wildcard as it is compared, in lower case and ASCII; `undefined` if the text is none. */
export function wildcardOf(text: string): string | undefined {
  const [, name] = /^\*\.([^\s/\\?#@:%[\]]{1,251})$/.exec(text) ?? [];
  const hostname = name && URL.parse(`http://${name}`)?.hostname;
  return hostname && hostname.length <= 251 && plainName.test(hostname) ? `*.${hostname}` : undefined;
}

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

/** The part of a site that another one has already, in full or in part: no host may belong to two. */
export function takenPart(site: Site, other: Site): keyof Site | undefined {
  const [here, there] = [new URL(site.accessUrl), new URL(other.accessUrl)];
  if (here.port !== there.port) return undefined;
  if (serves(other, here)) return "accessUrl";
  const takes = isCovered(there.hostname, site.wildcardHostname);
  const isSame = site.wildcardHostname !== "" && site.wildcardHostname === other.wildcardHostname;
  return takes || isSame ? "wildcardHostname" : undefined;
}
