import { area } from "./engine/area.js";

// The contract requires an email address and a time even for visitors whom the caller may not read. RFC 2606 reserves
// `.invalid`, so the placeholder is never a real address.
const withheld = { email: "withheld@user.invalid", created_at: "0001-01-01T00:00:00.000Z" };

export default area("connection-logs", "Connections of users to workspaces.", [
  ["GET", "/api/v2/connectionlog", "ListConnectionLogs", 200, { withheld }],
]);
