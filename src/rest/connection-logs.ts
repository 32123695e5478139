import { area } from "./engine/area.js";

// Of visitors whom the caller may not read, the contract still wants an address and a time. RFC 2606 keeps `.invalid`
// free of real addresses.
const withheld = { email: "withheld@user.invalid", created_at: "0001-01-01T00:00:00.000Z" };

export default area("connection-logs", [["GET", "/api/v2/connectionlog", "ListConnectionLogs", 200, { withheld }]]);
