import type { Config } from "../../runtime/config.js";
import type { Context } from "../kernel/context.js";
import { anyOf } from "../kernel/queries.js";
import { oauthFailure } from "./oauth-errors.js";
import { characters, list } from "../kernel/values.js";
import { longestUrl } from "../../entities/lengths.js";

/** Maximum number of resources in a request, and bytes of each. */
export const mostResources = 16;
const longestResource = longestUrl;

/** A resource indicator in inputs. `canonicalResource` has its rules. */
export const resourceUri = characters(0, longestResource);

/** The `resource` parameters in inputs, and what is said of them. */
export const resourceList = list(mostResources, resourceUri);
export const resourceNotice =
  "URIs of the resources that the token is for (RFC 8707): of this server, or registered by applications.";

/**
 * The canonical form of a resource indicator (RFC 8707 §2): scheme and host in lower case, without default port, dot
 * segments and trailing slash. `undefined` unless it is an absolute http or https URI without fragment and user information.
 */
export function canonicalResource(text: string): string | undefined {
  if (text.length > longestResource) return undefined;
  const url = URL.parse(text);
  const isUsable =
    url !== null &&
    /^https?:/.test(url.protocol) &&
    /^[\x21-\x7e]+$/.test(text) &&
    !/[#\\]/.test(text) &&
    url.username === "" &&
    url.password === "";
  if (!isUsable) return undefined;
  const canonical = `${url.origin}${url.pathname.replace(/\/+$/, "")}${url.search}`;
  // Parsing may have escaped characters.
  return canonical.length <= longestResource ? canonical : undefined;
}

/** The parts of this server that tokens can be issued for, and the path of each. */
export const OwnResource = { SERVER: "", REST: "/api/v2", GRAPHQL: "/graphql", MCP: "/mcp" } as const;
export type OwnResource = (typeof OwnResource)[keyof typeof OwnResource];

/** The resources of this server, in canonical form. */
export const ownResources = ({ accessUrl }: Pick<Config, "accessUrl">): string[] =>
  Object.values(OwnResource).map((path) => accessUrl + path);

/** Whether tokens with these audiences are good for the MCP server and nothing else. */
export const areForMcp = (audiences: readonly string[], { accessUrl }: Pick<Config, "accessUrl">): boolean =>
  audiences.length > 0 && audiences.every((uri) => uri === accessUrl + OwnResource.MCP);

/**
 * The resources of a request in canonical form; none stand for the whole of this server. Throws `invalid_target` unless
 * each is a resource of this server or of a registered resource server.
 */
export async function requestedAudiences(ctx: Context, resource: readonly string[]): Promise<string[]> {
  if (resource.length > mostResources)
    throw oauthFailure("invalid_target", `At most ${mostResources} resources are accepted.`);
  const canonical = resource.map(canonicalResource).filter((uri) => uri !== undefined);
  if (canonical.length < resource.length || !(await areKnown(ctx, canonical)))
    throw oauthFailure("invalid_target", "A resource is unknown to this server.");
  return [...new Set(canonical)];
}

/** Whether each of some resources, in canonical form, is of this server or of a registered resource server. */
export async function areKnown(ctx: Context, resources: readonly string[]): Promise<boolean> {
  const own = ownResources(ctx.config);
  const foreign = resources.filter((uri) => !own.includes(uri));
  const served = foreign.length > 0 ? await registeredResources(ctx, foreign) : [];
  return foreign.every((uri) => served.includes(uri));
}

/**
 * The violated rule of a resource that requests get which name none, as a sentence. `alsoServed` are resources that are
 * registered by the same change.
 */
export async function defaultResourceProblem(
  ctx: Context,
  text: string,
  alsoServed: readonly string[] = [],
): Promise<string | undefined> {
  const canonical = canonicalResource(text);
  const isKnown = canonical !== undefined && (alsoServed.includes(canonical) || (await areKnown(ctx, [canonical])));
  return isKnown ? undefined : "Must be a URL of this server, or a resource indicator of an application.";
}

/** Returns those of some resources for which an application is the resource server. */
async function registeredResources({ db }: Context, uris: readonly string[]): Promise<string[]> {
  const rows = await db.selectFrom("oauth2Resources").where("uri", "=", anyOf(uris, "text")).select("uri").execute();
  return rows.map(({ uri }) => uri);
}

/**
 * The audiences of a token: those of its grant, or the `resource` parameters among them. A resource of this server is
 * among them if it is below one of them. Throws `invalid_target` (RFC 8707 §2.2).
 */
export function narrowedAudiences(
  granted: readonly string[],
  resource: readonly string[] | null | undefined,
  config: Pick<Config, "accessUrl">,
): string[] {
  if (!resource || resource.length === 0) return [...granted];
  const held = granted.length > 0 ? granted : [config.accessUrl];
  const own = ownResources(config);
  const isHeld = (uri: string | undefined): uri is string =>
    uri !== undefined && (held.includes(uri) || (own.includes(uri) && held.some((each) => uri.startsWith(`${each}/`))));
  const wanted = resource.slice(0, mostResources + 1).map(canonicalResource);
  if (wanted.length > mostResources || !wanted.every(isHeld))
    throw oauthFailure("invalid_target", "A resource is not among those that were granted.");
  return [...new Set(wanted)];
}
