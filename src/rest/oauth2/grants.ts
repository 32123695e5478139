import { area, type RowOptions } from "../engine/area.js";
import { oauthDialect } from "./dialect.js";

const unknown: RowOptions = { failures: { 404: "No application has the `client_id`." } };

export default area(
  "oauth2/grants",
  "The access that users granted to OAuth2 applications.",
  [["DELETE", "/oauth2/tokens", "RevokeOAuth2AppGrants", 204, unknown]],
  oauthDialect,
);
