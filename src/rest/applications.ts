import { area } from "./engine/area.js";

export default area("applications", "Access to the applications that workspaces serve.", [
  ["GET", "/api/v2/applications/host", "ApplicationsHost", 200, { under: "host" }],
  ["GET", "/api/v2/applications/auth-redirect", "CreateApplicationRedirect", 307],
]);
