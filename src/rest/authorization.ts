import { area, type RowOptions } from "./engine/area.js";

const check: RowOptions = {
  example: {
    checks: { mayCreateGroups: { action: "create", object: { resource_type: "group", organization_id: "default" } } },
  },
};

export default area("authorization", "Scopes of credentials, and checks of the caller's permissions.", [
  ["GET", "/api/v2/auth/scopes", "AuthScopes", 200],
  ["POST", "/api/v2/authcheck", "AuthCheck", 200, check],
]);
