import { area, type RowOptions } from "./engine/area.js";

const alone: RowOptions = { oneElementArray: true };

export default area("quiet-hours", [
  ["GET", "/api/v2/users/:user/quiet-hours", "GetQuietHours", 200, alone],
  ["PUT", "/api/v2/users/:user/quiet-hours", "SetQuietHours", 200, alone],
]);
