import { area, type RowOptions } from "./engine/area.js";

const updated: RowOptions = {
  message: "Template access updated.",
  example: { user_perms: { "4df59e74-c027-470b-ab4d-cbba8963a5e9": "" } },
};

// oxfmt-ignore
export default area("templates", "Who may use templates, and their prebuilt workspaces.", [
  ["PATCH", "/api/v2/templates/:template/acl",                  "UpdateTemplateAcl",         200, updated],
  ["GET",   "/api/v2/templates/:template/acl",                  "GetTemplateAcl",            200],
  ["GET",   "/api/v2/templates/:template/acl/available",        "GetTemplateAclAvailable",   200, { oneElementArray: true }],
  ["POST",  "/api/v2/templates/:template/prebuilds/invalidate", "InvalidateTemplatePresets", 200],
]);
