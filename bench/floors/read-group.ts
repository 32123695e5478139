// F1: one prepared select without a session.
import { type GroupRow, groupBody, selectGroup } from "./groups.js";
import { pool, segment, serve } from "./serve.js";

serve(async (request) => {
  const { rows } = await pool.query<GroupRow>({ name: "group", text: selectGroup, values: [segment(request, 4)] });
  return JSON.stringify(groupBody(rows[0]!, []));
});
