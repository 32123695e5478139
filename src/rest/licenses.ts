import { area, type RowOptions } from "./engine/area.js";

const refreshed: RowOptions = { message: "Entitlements updated." };

// oxfmt-ignore
export default area("licenses", [
  ["GET",    "/api/v2/entitlements",                  "GetEntitlements",     200],
  ["GET",    "/api/v2/licenses",                      "ListLicenses",        200],
  ["POST",   "/api/v2/licenses",                      "AddLicense",          201],
  ["POST",   "/api/v2/licenses/refresh-entitlements", "RefreshEntitlements", 201, refreshed],
  ["DELETE", "/api/v2/licenses/:id",                  "DeleteLicense",       200],
]);
