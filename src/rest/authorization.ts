import { area } from "./engine/area.js";

export default area("authorization", [
  ["GET", "/api/v2/auth/scopes", "AuthScopes", 200],
  ["POST", "/api/v2/authcheck", "AuthCheck", 200],
]);
