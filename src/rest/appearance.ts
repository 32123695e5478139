import { area } from "./engine/area.js";

export default area("appearance", [
  ["GET", "/api/v2/appearance", "GetAppearance", 200],
  ["PUT", "/api/v2/appearance", "UpdateAppearance", 200],
]);
