import { area } from "./engine/area.js";

export default area("agents", "Agents, which run in workspaces.", [
  ["GET", "/api/v2/workspaces/:workspace/external-agent/:agent/credentials", "ExternalAgentCredentials", 200],
]);
