import { area, type RowOptions } from "./engine/area.js";

const regions: RowOptions = { under: "regions", oneElementArray: true };
const deleted: RowOptions = { message: "Proxy has been deleted." };

// oxfmt-ignore
export default area("workspace-proxies", [
  ["GET",    "/api/v2/workspaceproxies",                 "ListWorkspaceProxies", 200, regions],
  ["POST",   "/api/v2/workspaceproxies",                 "CreateWorkspaceProxy", 201],
  ["GET",    "/api/v2/workspaceproxies/:workspaceproxy", "GetWorkspaceProxy",    200],
  ["PATCH",  "/api/v2/workspaceproxies/:workspaceproxy", "UpdateWorkspaceProxy", 200],
  ["DELETE", "/api/v2/workspaceproxies/:workspaceproxy", "DeleteWorkspaceProxy", 200, deleted],
]);
