import { area, type RowOptions } from "./engine/area.js";

const refreshed: RowOptions = { message: "Entitlements updated." };
const added: RowOptions = {
  // An unsigned license, which servers without configured license keys accept.
  example: {
    license:
      "eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiIwMTk4YzFkMi03YjFlLTdhNTItOWM1NS0zZjBhMmY2ZDhlMTEiLCJhY2NvdW50X2lkIjoiYWNtZSJ9.AAAA",
  },
  failures: { 409: "The license is stored already, or there are too many." },
};

// oxfmt-ignore
export default area("licenses", "Licenses, and the features that they grant.", [
  ["GET",    "/api/v2/entitlements",                  "GetEntitlements",     200],
  ["GET",    "/api/v2/licenses",                      "ListLicenses",        200],
  ["POST",   "/api/v2/licenses",                      "AddLicense",          201, added],
  ["POST",   "/api/v2/licenses/refresh-entitlements", "RefreshEntitlements", 201, refreshed],
  ["DELETE", "/api/v2/licenses/:id",                  "DeleteLicense",       200],
]);
