import type { Config } from "../../config/config.js";
import type { ClientMetadata } from "./client-metadata.js";
import { type AuthMethod, type ClientRow, GrantType } from "./client-rows.js";

/** The registration of an application as it reads it (RFC 7591 §3.2.1, RFC 7592 §3): what is in effect. */
export interface ClientConfiguration extends Omit<ClientMetadata, "redirectUris" | "grantTypes" | "responseTypes"> {
  clientId: string;
  /** Seconds since the epoch. */
  clientIdIssuedAt: number;
  /** 0: secrets of applications that registered themselves do not expire. */
  clientSecretExpiresAt: number;
  registrationAccessToken: string;
  registrationClientUri: string;
  clientName: string;
  redirectUris: string[];
  tokenEndpointAuthMethod: AuthMethod;
  grantTypes: string[];
  responseTypes: string[];
  /** The scopes of requests that name none. */
  scope: string;
}

type Configured = Pick<Config, "accessUrl" | "oauth2DynamicScopes">;

/** Returns the registration of an application, with the token that manages it. */
export function configurationOf(
  { id, createdAt, name, redirectUris, authMethod, grantTypes, metadata }: ClientRow,
  registrationAccessToken: string,
  { accessUrl, oauth2DynamicScopes }: Configured,
): ClientConfiguration {
  return {
    scope: oauth2DynamicScopes.join(" "),
    ...metadata,
    clientId: id,
    clientIdIssuedAt: Math.floor(Date.parse(createdAt) / 1000),
    clientSecretExpiresAt: 0,
    registrationAccessToken,
    registrationClientUri: `${accessUrl}/oauth2/clients/${id}`,
    clientName: name,
    redirectUris,
    tokenEndpointAuthMethod: authMethod ?? "none",
    grantTypes,
    responseTypes: grantTypes.includes(GrantType.AUTHORIZATION_CODE) ? ["code"] : [],
  };
}
