import { area, type RowOptions } from "../engine/area.js";
import { oauthDialect } from "./dialect.js";

const secretText = "8LmXq20aZk_3tYw8ZrQpLk2VxNc7BdMf5HjSg9TaUe4WiXo1CvRb6E";
const client = { client_id: "019ab1c2-7d3e-7f00-8a1b-2c3d4e5f6071", client_secret: `stws_${secretText}` };
const refreshToken = `stwr_${secretText}`;
const common: RowOptions = { failures: { 401: "The application could not be authenticated." } };

const issued: RowOptions = {
  example: { ...client, grant_type: "refresh_token", refresh_token: refreshToken },
  ...common,
};
const revoked: RowOptions = { example: { ...client, token: refreshToken }, ...common };
const introspected: RowOptions = { example: { ...client, token: refreshToken }, ...common, sparse: ["aud"] };
const started: RowOptions = { example: client, ...common };

// oxfmt-ignore
export default area("oauth2/tokens", "Tokens of OAuth2 applications (RFC 6749, RFC 7009, RFC 7662, RFC 8628).", [
  ["POST", "/oauth2/tokens",               "IssueOAuth2Token",    200, issued],
  ["POST", "/oauth2/revoke",               "RevokeOAuth2Token",   200, revoked],
  ["POST", "/oauth2/introspect",           "OAuth2Introspection", 200, introspected],
  ["POST", "/oauth2/device_authorization", "StartOAuth2Device",   200, started],
], oauthDialect);
