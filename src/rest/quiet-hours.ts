import { area, type RowOptions } from "./engine/area.js";

const alone: RowOptions = { oneElementArray: true };
const daily: RowOptions = { ...alone, example: { schedule: "CRON_TZ=Europe/Berlin 30 2 * * *" } };

export default area("quiet-hours", "When the workspaces of a user may be stopped and updated.", [
  ["GET", "/api/v2/users/:user/quiet-hours", "GetQuietHours", 200, alone],
  ["PUT", "/api/v2/users/:user/quiet-hours", "SetQuietHours", 200, daily],
]);
