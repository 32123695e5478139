// The straightforward implementation: plain statements, rows in the order they come, JSON.stringify.
import { type GroupRow, groupBody, type MemberRow, selectGroupWithSession, selectMembers } from "./groups.js";
import { pool, segment, serve } from "./serve.js";
import { checkSecret, type Session, sessionId } from "./sessions.js";

serve(async (request) => {
  const id = segment(request, 4);
  const { rows } = await pool.query<GroupRow & Session>(selectGroupWithSession, [id, sessionId(request)]);
  const [row] = rows;
  if (!row) throw new Error("not found");
  checkSecret(request, row.secret_hash);
  const { rows: members } = await pool.query<MemberRow>(selectMembers, [id]);
  return JSON.stringify(groupBody(row, members));
});
