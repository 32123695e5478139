import { area } from "./engine/area.js";

export default area("connection-logs", [["GET", "/api/v2/connectionlog", "ListConnectionLogs", 200]]);
