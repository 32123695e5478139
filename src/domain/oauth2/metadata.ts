import { scopeCatalog } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { AuthMethod, GrantType } from "./clients.js";
import { mcpUsualScopes } from "../mcp/tools.js";
import { OwnResource } from "./audiences.js";
import { mayRegister, requireOAuth2 } from "./oauth2-settings.js";

/** The metadata of an authorization server (RFC 8414 §2). */
export interface ServerMetadata {
  issuer: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
  introspectionEndpoint: string;
  deviceAuthorizationEndpoint: string;
  /** Absent while applications may not register themselves. */
  registrationEndpoint: string | null;
  scopesSupported: readonly string[];
  responseTypesSupported: readonly string[];
  responseModesSupported: readonly string[];
  grantTypesSupported: readonly string[];
  codeChallengeMethodsSupported: readonly string[];
  tokenEndpointAuthMethodsSupported: readonly string[];
  revocationEndpointAuthMethodsSupported: readonly string[];
  introspectionEndpointAuthMethodsSupported: readonly string[];
  /** RFC 9207 §3. */
  authorizationResponseIssParameterSupported: boolean;
  /** Absent while it is not known that documents can be fetched: clients prefer them to registering themselves. */
  clientIdMetadataDocumentSupported: true | null;
}

/** Describes this server as an authorization server. Throws NOT_FOUND if it is none. */
export async function oauth2ServerMetadata(ctx: Context): Promise<ServerMetadata> {
  requireOAuth2(ctx);
  const { accessUrl } = ctx.config;
  const methods = Object.values(AuthMethod);
  return {
    issuer: accessUrl,
    authorizationEndpoint: `${accessUrl}/oauth2/authorize`,
    tokenEndpoint: `${accessUrl}/oauth2/tokens`,
    revocationEndpoint: `${accessUrl}/oauth2/revoke`,
    introspectionEndpoint: `${accessUrl}/oauth2/introspect`,
    deviceAuthorizationEndpoint: `${accessUrl}/oauth2/device_authorization`,
    registrationEndpoint: (await mayRegister(ctx)) ? `${accessUrl}/oauth2/register` : null,
    scopesSupported: scopeCatalog,
    responseTypesSupported: ["code"],
    responseModesSupported: ["query"],
    grantTypesSupported: Object.values(GrantType),
    codeChallengeMethodsSupported: ["S256"],
    tokenEndpointAuthMethodsSupported: methods,
    revocationEndpointAuthMethodsSupported: methods,
    introspectionEndpointAuthMethodsSupported: methods.filter((method) => method !== "none"),
    authorizationResponseIssParameterSupported: true,
    clientIdMetadataDocumentSupported: ctx.services.documentProbe.isAnnounced || null,
  };
}

/** How to get access to a resource (RFC 9728 §2). */
export interface ResourceMetadata {
  resource: string;
  authorizationServers: readonly string[];
  scopesSupported: readonly string[];
  bearerMethodsSupported: readonly string[];
}

/** Describes this server, or a part of it, as a resource. Clients may request all of its scopes: they are few. */
export function oauth2ProtectedResourceMetadata(ctx: Context, path: OwnResource): ResourceMetadata {
  requireOAuth2(ctx);
  const { accessUrl, oauth2ResourceScopes } = ctx.config;
  return {
    resource: accessUrl + path,
    authorizationServers: [accessUrl],
    scopesSupported: path === OwnResource.MCP ? mcpUsualScopes : oauth2ResourceScopes,
    bearerMethodsSupported: ["header"],
  };
}
