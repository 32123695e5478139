import { area } from "./engine/area.js";

export default area("prebuilds", [
  ["GET", "/api/v2/prebuilds/settings", "GetPrebuildsSettings", 200],
  ["PUT", "/api/v2/prebuilds/settings", "UpdatePrebuildsSettings", 200],
]);
