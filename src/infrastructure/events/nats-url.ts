/** The servers of one NATS cluster, and how to sign in at all of them. */
export interface NatsServers {
  /** Hosts with ports. */
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  /** Set if connections use TLS. */
  readonly tls?: Record<string, never>;
}

/**
 * Reads a comma-separated list of URLs, `nats://` or `tls://` all of them. The first one may have a username and password,
 * or a token. Undefined if the list is invalid.
 */
export function natsServers(text: string): NatsServers | undefined {
  const urls = text.split(",").map((each) => URL.parse(each.trim()));
  const [first] = urls;
  if (!first || !["nats:", "tls:"].includes(first.protocol)) return undefined;
  for (const [index, url] of urls.entries()) {
    if (!url || url.protocol !== first.protocol || url.hostname === "") return undefined;
    if (!/^\/?$/.test(url.pathname) || url.search || url.hash) return undefined;
    if (index > 0 && (url.username || url.password)) return undefined;
  }
  if (/%(?![0-9a-f]{2})/i.test(first.username + first.password)) return undefined;
  const user = decodeURIComponent(first.username);
  const pass = decodeURIComponent(first.password);
  return {
    servers: urls.map((url) => `${url!.hostname}:${url!.port || 4222}`),
    ...(pass ? { user, pass } : user ? { token: user } : {}),
    ...(first.protocol === "tls:" && { tls: {} }),
  };
}
