import { area, type RowOptions } from "./engine/area.js";

const live: RowOptions = { stream: { id: "cursor", resume: "since", isIdOfEvent: true } };

export default area("audit", "The audit log, as it is written.", [
  ["GET", "/api/v2/audit/stream", "StreamAuditEvents", 200, live],
]);
