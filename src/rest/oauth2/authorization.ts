import { area } from "../engine/area.js";
import { oauthDialect } from "./dialect.js";

export default area(
  "oauth2/authorization",
  "The pages on which users decide which applications get access.",
  [
    ["GET", "/oauth2/authorize", "AuthorizationRequest", 200],
    ["POST", "/oauth2/authorize", "ApproveAuthorization", 302],
  ],
  oauthDialect,
  { pages: true },
);
