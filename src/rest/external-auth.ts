import { area, type RowOptions } from "./engine/area.js";

const failing = "The provider is not reachable, or its response is not usable.";
const read: RowOptions = { failures: { 502: failing } };
const polled: RowOptions = {
  isBodyHidden: true,
  example: { device_code: "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS" },
  failures: { 502: failing },
};

// oxfmt-ignore
export default area("external-auth", "Accounts of the caller at other services, such as Git hosts.", [
  ["GET",    "/api/v2/external-auth",                      "ListExternalAuth",           200],
  ["GET",    "/api/v2/external-auth/:externalauth",        "GetExternalAuth",            200, read],
  ["DELETE", "/api/v2/external-auth/:externalauth",        "DeleteExternalAuth",         200],
  ["GET",    "/api/v2/external-auth/:externalauth/device", "StartExternalAuthDevice",    200, read],
  ["POST",   "/api/v2/external-auth/:externalauth/device", "CompleteExternalAuthDevice", 204, polled],
]);
