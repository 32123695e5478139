import { OAuth2Client } from "../../entities/oauth2.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";

/** How an application came to be: made by an administrator, self-registered, or described by a metadata document. */
export const ClientKind = { ADMIN: "admin", DYNAMIC: "dynamic", DOCUMENT: "document" } as const;
export type ClientKind = (typeof ClientKind)[keyof typeof ClientKind];

/** Whether an application can keep a secret (RFC 6749 §2.1). */
export const ClientType = { CONFIDENTIAL: "confidential", PUBLIC: "public" } as const;
export type ClientType = (typeof ClientType)[keyof typeof ClientType];

/** The grant types (RFC 6749 §4, RFC 8628 §3.4). */
export const GrantType = {
  AUTHORIZATION_CODE: "authorization_code",
  REFRESH_TOKEN: "refresh_token",
  CLIENT_CREDENTIALS: "client_credentials",
  DEVICE_CODE: "urn:ietf:params:oauth:grant-type:device_code",
} as const;
export type GrantType = (typeof GrantType)[keyof typeof GrantType];

/** How an application authenticates at the token endpoint (RFC 7591 §2). */
export const AuthMethod = {
  CLIENT_SECRET_BASIC: "client_secret_basic",
  CLIENT_SECRET_POST: "client_secret_post",
  NONE: "none",
} as const;
export type AuthMethod = (typeof AuthMethod)[keyof typeof AuthMethod];

/** The columns of a `ClientRow`, from `oauth2_clients c`. */
export const clientColumns = columnsOf(OAuth2Client, "c", [
  "id",
  "kind",
  "type",
  "name",
  "icon",
  "redirectUris",
  "pkceRequired",
  "scopeCeiling",
  "grantTypes",
  "authMethod",
  "serviceUserId",
  "documentUrl",
  "metadata",
  "lastUsedAt",
  "createdById",
  "createdIp",
  "createdAt",
  "updatedAt",
  "isDisabled",
]);

/** An OAuth2 application. */
export interface ClientRow extends RowOf<typeof clientColumns> {
  kind: ClientKind;
  type: ClientType;
  grantTypes: GrantType[];
  authMethod: AuthMethod | null;
}

/** The `client_id` of an application in the protocol. */
export const clientIdOf = ({ id, documentUrl }: Pick<ClientRow, "id" | "documentUrl">): string => documentUrl ?? id;
