import { area, type RowOptions } from "./engine/area.js";

const created: RowOptions = {
  isBodyHidden: true,
  example: { name: "build-machines", tags: { region: "eu" } },
  failures: { 409: "Another key of the organization has the name." },
};

// oxfmt-ignore
export default area("provisioners", "Keys of provisioner daemons, and the daemons.", [
  ["GET",    "/api/v2/organizations/:organization/provisionerkeys",                 "ListProvisionerKeys",       200],
  ["POST",   "/api/v2/organizations/:organization/provisionerkeys",                 "CreateProvisionerKey",      201, created],
  ["GET",    "/api/v2/organizations/:organization/provisionerkeys/daemons",         "ListProvisionerKeyDaemons", 200],
  ["DELETE", "/api/v2/organizations/:organization/provisionerkeys/:provisionerkey", "DeleteProvisionerKey",      204],
]);
