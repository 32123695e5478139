import type { Context } from "../kernel/context.js";
import { isUuid } from "../../runtime/text.js";
import {
  authenticateClient,
  clientCredentials,
  clientReference,
  credential,
  invalidClient,
  typeHint,
} from "./client-authentication.js";
import { requireValues } from "./oauth-errors.js";
import { findIssuedToken, type IssuedToken } from "./issued.js";
import { requireOAuth2 } from "./oauth2-settings.js";
import { inputOf, type Input, optional, pasted } from "../kernel/values.js";

/** A request to introspect a token (RFC 7662 §2.1). */
export const IntrospectOAuth2Token = inputOf({
  ...clientCredentials,
  clientId: optional(clientReference, "Required: the `client_id` of the application."),
  token: optional(pasted(credential), "Required: access token or refresh token."),
  tokenTypeHint: typeHint,
});
export type IntrospectOAuth2Token = Input<typeof IntrospectOAuth2Token>;

/** The state of a token (RFC 7662 §2.2). All but `active` is absent if it is not active. */
export interface OAuth2Introspection {
  active: boolean;
  scope?: string;
  clientId?: string;
  username?: string;
  /** The id of the user. */
  sub?: string;
  aud?: readonly string[];
  iss?: string;
  /** Seconds since the epoch. */
  iat?: number;
  exp?: number;
  /** Absent for refresh tokens. */
  tokenType?: "Bearer";
}

/**
 * Describes a token to a confidential application (RFC 7662): one that was issued to it, or an access token for a resource
 * that it serves. All other tokens are not active.
 */
export async function introspectOAuth2Token(ctx: Context, input: IntrospectOAuth2Token): Promise<OAuth2Introspection> {
  requireOAuth2(ctx);
  requireValues({}, IntrospectOAuth2Token, input);
  const { token } = input;
  const clientId = input.clientId ?? "";
  const [client, found] = await Promise.all([
    authenticateClient(ctx, input),
    findIssuedToken(ctx, token ?? "", isUuid(clientId) ? clientId : null),
  ]);
  if (client.type === "public") throw invalidClient();
  requireValues({ token });
  ctx.services.limits.countClient(ctx, client.id);
  const isReadable = found?.ownerId === client.id || (found?.kind === "access" && found.isServed);
  return isReadable && found.isActive ? describeToken(ctx, found) : { active: false };
}

function describeToken({ config: { accessUrl } }: Context, token: IssuedToken): OAuth2Introspection {
  return {
    active: true,
    scope: token.scopes.join(" "),
    clientId: token.clientId,
    username: token.username,
    sub: token.userId,
    aud: token.audiences.length > 0 ? token.audiences : [accessUrl],
    iss: accessUrl,
    iat: token.issuedAt,
    exp: token.expiresAt,
    ...(token.kind === "access" && { tokenType: "Bearer" }),
  };
}
