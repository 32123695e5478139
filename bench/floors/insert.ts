// FW: one durable insert per request.
import { v7 as uuidv7 } from "uuid";
import { insertAuditEvent } from "./audit.js";
import { pool, readJson, serve } from "./serve.js";

serve(async (request) => {
  await readJson(request);
  const id = uuidv7();
  const values = [id, null, null, "create", "inbox_notification", id, null, null, {}, uuidv7()];
  await pool.query({ name: "insert", text: insertAuditEvent, values });
  return undefined;
});
