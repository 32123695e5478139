import { area, type RowOptions } from "./engine/area.js";

const paused: RowOptions = { example: { reconciliation_paused: true } };

export default area("prebuilds", "Settings of prebuilt workspaces.", [
  ["GET", "/api/v2/prebuilds/settings", "GetPrebuildsSettings", 200],
  ["PUT", "/api/v2/prebuilds/settings", "UpdatePrebuildsSettings", 200, paused],
]);
