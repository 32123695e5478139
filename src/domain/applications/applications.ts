import { sql } from "kysely";
import { readDeploymentId } from "../deployment/deployment.js";
import { requireUser, type UserActor } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { badInput, unauthenticated } from "../kernel/errors.js";
import { after, now } from "../kernel/queries.js";
import { day } from "../../runtime/durations.js";
import { purge } from "../../infrastructure/database/purge.js";
import { faultOf, type Input, inputOf, required, httpUrl } from "../kernel/values.js";
import { insertKey, makeRoomForKey } from "../tokens/api-keys.js";
import { newToken } from "../tokens/token-text.js";
import { primarySite } from "../workspace-proxies/workspace-proxies.js";
import { isCovered, serves, type Site } from "../workspace-proxies/sites.js";
import { sealMessage } from "./sealed-messages.js";

/** The query parameter that carries a message. */
export const parameter = "steward_application_connect";

/** The wildcard of application hosts, `*.apps.example.com`, with the port of the deployment; empty if there is none. */
export function applicationsHost({ config }: Context): string {
  if (config.wildcardAccessUrl === undefined) return "";
  const { port } = new URL(config.accessUrl);
  return config.wildcardAccessUrl + (port && `:${port}`);
}

export const CreateApplicationRedirect = inputOf({
  redirectUri: required(
    httpUrl,
    "Its http or https URL, at a host of the deployment or of a proxy. At most 2048 bytes.",
  ),
});
export type CreateApplicationRedirect = Input<typeof CreateApplicationRedirect>;

/**
 * Creates an application key of the caller. Returns the URL that passes it to the host of the application, in an
 * encrypted message. Throws BAD_USER_INPUT if the host of the URL is not an application host.
 */
export async function createApplicationRedirect(ctx: Context, input: CreateApplicationRedirect): Promise<string> {
  const actor = requireUser(ctx.actor);
  const url = redirectUrl(input.redirectUri);
  const target = await targetOf(ctx, url);
  if (!target) throw invalid("Must be a URL at an application host.", "Invalid redirect_uri.");
  const apiKey = await createApplicationKey(ctx, actor, url.host);
  const { recipient, origin: audience } = target;
  return locationOf(url, target, await sealMessage(ctx, { recipient, audience, userId: actor.userId, apiKey }));
}

const invalid = (detail: string, message?: string) => badInput([{ field: "redirectUri", detail }], message);

/** Parses the URL. Redirects are serialized from the result, since browsers may parse the text differently. */
function redirectUrl(text: string): URL {
  if (text === "") throw invalid("Is required.");
  const problem = faultOf(httpUrl, text);
  if (problem) throw invalid(problem);
  return new URL(text);
}

/** The application server at a URL. */
interface Target {
  /** The id of a proxy, or of the deployment. */
  recipient: string;
  /** The origin of the URL, with the scheme of the server. */
  origin: string;
}

/**
 * Finds the application server at a URL: the deployment for hosts below its wildcard, or the proxy that registered the
 * host; `undefined` for other hosts and for that of the dashboard.
 */
async function targetOf(ctx: Context, url: URL): Promise<Target | undefined> {
  const primary = primarySite(ctx);
  const dashboard = new URL(primary.accessUrl);
  if (url.host === dashboard.host) return undefined;
  const originAt = ({ accessUrl }: Site) => `${new URL(accessUrl).protocol}//${url.host}`;
  if (url.port === dashboard.port && isCovered(url.hostname, primary.wildcardHostname))
    return { recipient: await readDeploymentId(ctx), origin: originAt(primary) };
  const proxies = await ctx.db
    .selectFrom("workspaceProxies")
    .where("deletedAt", "is", null)
    .where("registration", ">", 0)
    .orderBy("id")
    .select(["id", "accessUrl", "wildcardHostname"])
    .execute();
  const proxy = proxies.find((site) => serves(site, url));
  return proxy && { recipient: proxy.id, origin: originAt(proxy) };
}

/** Maximum number of application keys of a user. Another one ends the oldest. */
const keysPerUser = 100;

/** The scope of application keys. */
const scope = "application_connect";

/**
 * Creates a key for applications at a host, with no other permissions. It expires after a day, or earlier with the
 * credential that creates it. Returns its text.
 */
async function createApplicationKey(ctx: Context, { userId, credential }: UserActor, host: string): Promise<string> {
  // The credential may have been revoked during the request.
  const creator = await ctx.db
    .selectFrom("apiKeys")
    .where("id", "=", credential.id)
    .where("expiresAt", ">", now)
    .select("expiresAt")
    .forKeyShare()
    .executeTakeFirst();
  if (!creator) throw unauthenticated("The token is not valid.");
  await makeRoomForKey(ctx, userId, "application", keysPerUser);
  const token = newToken("application");
  const { expiresAt } = await insertKey(ctx, token, {
    userId,
    kind: "application",
    scopes: [scope],
    parentId: credential.id,
    madeBy: credential.id,
    expiresAt: sql<string>`least(${creator.expiresAt}::timestamptz, ${after(day)})`,
  })
    .returning("expiresAt")
    .executeTakeFirstOrThrow();
  const diff = { scopes: { new: [scope] }, expiresAt: { new: expiresAt }, host: { new: host } };
  ctx.audit({ action: "create", resourceType: "api_key", resourceId: token.id, diff });
  return token.text;
}

/** Returns the URL at the origin of the target, with the message instead of any other. */
const locationOf = ({ pathname, search, hash }: URL, { origin }: Target, message: string): string =>
  `${origin}${pathname}${withoutMessage(search, `${parameter}=${message}`)}${hash}`;

/** Returns a query string without messages and with the added parameters. */
export function withoutMessage(search: string, ...added: string[]): string {
  const kept = search.slice(1).split("&");
  const parts = [...kept.filter((part) => part !== "" && !new URLSearchParams(part).has(parameter)), ...added];
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

/** Deletes used messages after their expiry. */
export const messagePurge = purge("spent_app_connects", { by: "expires_at" });
