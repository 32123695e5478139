import { area } from "./engine/area.js";

const successor = "/api/v2/organizations/default/members/:user/workspace-quota";

// oxfmt-ignore
export default area("groups", [
  ["GET",    "/api/v2/groups",                                                    "ListGroups",               200],
  ["GET",    "/api/v2/groups/:group",                                             "GetGroup",                 200],
  ["PATCH",  "/api/v2/groups/:group",                                             "UpdateGroup",              200],
  ["DELETE", "/api/v2/groups/:group",                                             "DeleteGroup",              200],
  ["GET",    "/api/v2/groups/:group/members",                                     "ListGroupMembers",         200],
  ["GET",    "/api/v2/groups/:group/ai/budget",                                   "GetGroupAiBudget",         200],
  ["PUT",    "/api/v2/groups/:group/ai/budget",                                   "SetGroupAiBudget",         200],
  ["DELETE", "/api/v2/groups/:group/ai/budget",                                   "DeleteGroupAiBudget",      204],
  ["GET",    "/api/v2/organizations/:organization/groups",                        "ListOrganizationGroups",   200],
  ["POST",   "/api/v2/organizations/:organization/groups",                        "CreateGroup",              201],
  ["GET",    "/api/v2/organizations/:organization/groups/:groupName",             "GetGroupByName",           200],
  ["GET",    "/api/v2/organizations/:organization/groups/:groupName/members",     "ListGroupMembersByName",   200],
  ["GET",    "/api/v2/organizations/:organization/members/:user/workspace-quota", "GetWorkspaceQuota",        200],
  ["GET",    "/api/v2/workspace-quota/:user",                                     "GetDefaultWorkspaceQuota", 200, { successor }],
]);
