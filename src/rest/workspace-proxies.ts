import { area, type RowOptions } from "./engine/area.js";

const regions: RowOptions = { under: "regions", oneElementArray: true };
const deleted: RowOptions = { message: "Proxy has been deleted." };
const taken = "Another proxy has the name";
const created: RowOptions = {
  example: { name: "frankfurt", display_name: "Frankfurt", icon: "/icons/de.png" },
  failures: { 409: `${taken}, or there are too many.` },
};
const updated: RowOptions = { example: { display_name: "Frankfurt 2" }, failures: { 409: `${taken}.` } };

// oxfmt-ignore
export default area("workspace-proxies", "Proxies that carry the traffic of workspace applications.", [
  ["GET",    "/api/v2/workspaceproxies",                 "ListWorkspaceProxies", 200, regions],
  ["POST",   "/api/v2/workspaceproxies",                 "CreateWorkspaceProxy", 201, created],
  ["GET",    "/api/v2/workspaceproxies/:workspaceproxy", "GetWorkspaceProxy",    200],
  ["PATCH",  "/api/v2/workspaceproxies/:workspaceproxy", "UpdateWorkspaceProxy", 200, updated],
  ["DELETE", "/api/v2/workspaceproxies/:workspaceproxy", "DeleteWorkspaceProxy", 200, deleted],
]);
