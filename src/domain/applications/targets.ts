import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { readServerInfo } from "../deployment/deployment.js";
import { primarySite } from "../workspace-proxies/primary.js";
import { isCovered, serves, type Site } from "../workspace-proxies/sites.js";

/** Who serves applications at a URL. */
export interface Target {
  /** The id of a proxy, or of the deployment. */
  recipient: string;
  /** With the scheme that applications are served by there. */
  origin: string;
}

const registered = statement<Site & { id: string }>(`
  select id, access_url as "accessUrl", wildcard_hostname as "wildcardHostname" from workspace_proxies
  where deleted_at is null and registration > 0 order by id`);

/**
 * Who serves applications at the URL: the deployment below its wildcard, or a proxy that has registered with the host.
 * Nobody does anywhere else, and where the dashboard is, there are no applications.
 */
export async function targetOf(ctx: Context, url: URL): Promise<Target | undefined> {
  const primary = primarySite(ctx);
  const dashboard = new URL(primary.accessUrl);
  if (url.host === dashboard.host) return undefined;
  const originAt = ({ accessUrl }: Site) => `${new URL(accessUrl).protocol}//${url.host}`;
  if (url.port === dashboard.port && isCovered(url.hostname, primary.wildcardHostname))
    return { recipient: (await readServerInfo(ctx)).deploymentId, origin: originAt(primary) };
  const proxy = (await ctx.rows(registered)).find((site) => serves(site, url));
  return proxy && { recipient: proxy.id, origin: originAt(proxy) };
}
