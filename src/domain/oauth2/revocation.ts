import type { Context } from "../kernel/context.js";
import {
  authenticateClient,
  clientCredentials,
  credential,
  identifyClient,
  namedClient,
  typeHint,
} from "./client-authentication.js";
import { requireValues } from "./oauth-errors.js";
import { revokeGrants } from "./grants.js";
import { findIssuedToken } from "./issued.js";
import { revokeServiceToken } from "./service-tokens.js";
import { requireOAuth2 } from "./oauth2-settings.js";
import { inputOf, type Input, pasted, required } from "../kernel/values.js";

/** A request to revoke a token (RFC 7009 §2.1). The type of the token is visible in its text: a hint is not needed. */
export const RevokeOAuth2Token = inputOf({
  ...clientCredentials,
  clientId: namedClient,
  token: required(pasted(credential), "Access token or refresh token."),
  tokenTypeHint: typeHint,
});
export type RevokeOAuth2Token = Input<typeof RevokeOAuth2Token>;

/**
 * Ends the grant of an access or refresh token, if it was issued to the application (RFC 7009), or the token alone if it
 * has no grant. All other tokens are
 * ignored. The possession of the token suffices; credentials must be right if they are sent.
 */
export async function revokeOAuth2Token(ctx: Context, input: RevokeOAuth2Token): Promise<true> {
  requireOAuth2(ctx);
  const { clientId, clientSecret, token } = input;
  requireValues({ clientId, token }, RevokeOAuth2Token, input);
  const [client, found] = await Promise.all([
    clientSecret ? authenticateClient(ctx, input) : identifyClient(ctx, clientId),
    findIssuedToken(ctx, token, null),
  ]);
  if (found?.ownerId !== client.id) return true;
  if (found.grantId === null) await revokeServiceToken(ctx, client, found.id);
  else await revokeGrants(ctx, [found.grantId], "revoked", "application");
  return true;
}
