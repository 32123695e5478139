import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { readDeploymentId } from "../deployment/deployment.js";
import { primarySite } from "../workspace-proxies/primary.js";
import { isCovered, serves, type Site } from "../workspace-proxies/sites.js";

/** The application server at a URL. */
export interface Target {
  /** The id of a proxy, or of the deployment. */
  recipient: string;
  /** The origin of the URL, with the scheme of the server. */
  origin: string;
}

const registered = statement<Site & { id: string }>(`
  select id, access_url as "accessUrl", wildcard_hostname as "wildcardHostname" from workspace_proxies
  where deleted_at is null and registration > 0 order by id`);

/**
 * Finds the application server at a URL: the deployment for hosts below its wildcard, or the proxy that registered the
 * host; `undefined` for other hosts and for that of the dashboard.
 */
export async function targetOf(ctx: Context, url: URL): Promise<Target | undefined> {
  const primary = primarySite(ctx);
  const dashboard = new URL(primary.accessUrl);
  if (url.host === dashboard.host) return undefined;
  const originAt = ({ accessUrl }: Site) => `${new URL(accessUrl).protocol}//${url.host}`;
  if (url.port === dashboard.port && isCovered(url.hostname, primary.wildcardHostname))
    return { recipient: await readDeploymentId(ctx), origin: originAt(primary) };
  const proxy = (await ctx.rows(registered)).find((site) => serves(site, url));
  return proxy && { recipient: proxy.id, origin: originAt(proxy) };
}
