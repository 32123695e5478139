// One prepared statement that selects the session together with the object.
import { type GroupRow, groupBody, selectGroupWithSession } from "./groups.js";
import { pool, segment, serve } from "./serve.js";
import { checkSecret, type Session, sessionId } from "./sessions.js";

serve(async (request) => {
  const { rows } = await pool.query<GroupRow & Session>({
    name: "group",
    text: selectGroupWithSession,
    values: [segment(request, 4), sessionId(request)],
  });
  const [row] = rows;
  if (!row) throw new Error("not found");
  checkSecret(request, row.secret_hash);
  return JSON.stringify(groupBody(row));
});
