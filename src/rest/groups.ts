import { area, type RowOptions } from "./engine/area.js";

const successor = "/api/v2/organizations/default/members/:user/workspace-quota";

const ambiguous = "The path names a group by a name that several groups have.";
const named: RowOptions = { failures: { 409: ambiguous } };
const taken = "Another group of the organization has the name.";
const created: RowOptions = {
  example: { name: "developers", display_name: "Developers", quota_allowance: 10 },
  failures: { 409: taken },
};
const updated: RowOptions = {
  example: { display_name: "Platform developers", quota_allowance: 20 },
  failures: { 409: `${taken} Or: ${ambiguous}` },
};
const budgeted: RowOptions = { ...named, example: { spend_limit_micros: 50_000_000 } };

// oxfmt-ignore
export default area("groups", "Groups, their AI budgets, and workspace quotas.", [
  ["GET",    "/api/v2/groups",                                                    "ListGroups",               200],
  ["GET",    "/api/v2/groups/:group",                                             "GetGroup",                 200, named],
  ["PATCH",  "/api/v2/groups/:group",                                             "UpdateGroup",              200, updated],
  ["DELETE", "/api/v2/groups/:group",                                             "DeleteGroup",              200, named],
  ["GET",    "/api/v2/groups/:group/members",                                     "ListGroupMembers",         200, named],
  ["GET",    "/api/v2/groups/:group/ai/budget",                                   "GetGroupAiBudget",         200, named],
  ["PUT",    "/api/v2/groups/:group/ai/budget",                                   "SetGroupAiBudget",         200, budgeted],
  ["DELETE", "/api/v2/groups/:group/ai/budget",                                   "DeleteGroupAiBudget",      204, named],
  ["GET",    "/api/v2/organizations/:organization/groups",                        "ListOrganizationGroups",   200],
  ["POST",   "/api/v2/organizations/:organization/groups",                        "CreateGroup",              201, created],
  ["GET",    "/api/v2/organizations/:organization/groups/:groupName",             "GetGroupByName",           200],
  ["GET",    "/api/v2/organizations/:organization/groups/:groupName/members",     "ListGroupMembersByName",   200],
  ["GET",    "/api/v2/organizations/:organization/members/:user/workspace-quota", "GetWorkspaceQuota",        200],
  ["GET",    "/api/v2/workspace-quota/:user",                                     "GetDefaultWorkspaceQuota", 200, { successor }],
]);
