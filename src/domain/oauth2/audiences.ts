import type { Config } from "../../config/config.js";

/** Maximum number of resources in a request, and bytes of each. */
export const mostResources = 16;
const longestResource = 2048;

/**
 * The canonical form of a resource indicator (RFC 8707 §2): scheme and host in lower case, without default port, dot
 * segments and trailing slash. `undefined` unless it is an absolute http or https URI without fragment and user information.
 */
export function canonicalResource(text: string): string | undefined {
  const url = URL.parse(text);
  const isUsable =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    /^[\x21-\x7e]+$/.test(text) &&
    !/[#\\]/.test(text) &&
    url.username === "" &&
    url.password === "" &&
    Buffer.byteLength(text) <= longestResource;
  return isUsable ? `${url.origin}${url.pathname.replace(/\/+$/, "")}${url.search}` : undefined;
}

/** The resources of this server, in canonical form: all of it, the REST API, and GraphQL. */
export const ownResources = ({ accessUrl }: Pick<Config, "accessUrl">): string[] => [
  accessUrl,
  `${accessUrl}/api/v2`,
  `${accessUrl}/graphql`,
];
