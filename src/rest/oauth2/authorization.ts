import { authorizationPages } from "../../pages/oauth2/authorization.js";
import { area } from "../engine/area.js";
import { oauthDialect } from "./dialect.js";

export default area(
  "oauth2/authorization",
  "The pages on which users decide which applications get access.",
  [
    ["GET", "/oauth2/authorize", "AuthorizationRequest", 200, { page: true }],
    ["POST", "/oauth2/authorize", "ApproveAuthorization", 302, { page: true }],
  ],
  oauthDialect,
  authorizationPages,
);
