// updateGroup by hand: begin, lock and read, update, audit, commit, read back.
import { v7 as uuidv7 } from "uuid";
import { insertAuditEvent } from "./audit.js";
import { graphqlGroup, type GroupRow, selectGroup } from "./groups.js";
import { pool, readJson, serve } from "./serve.js";
import { sessionId } from "./sessions.js";
import { inTransaction } from "./transactions.js";
import { userOf } from "./users.js";

interface Request {
  variables: { input: { group: string; displayName: string; quotaAllowance: number } };
}

const lockGroup = `
  select id, organization_id, name, display_name, avatar_url, quota_allowance, source
  from groups where id = $1 for update`;

const updateGroup = `update groups set display_name = $2, quota_allowance = $3, updated_at = now() where id = $1`;

type LockedGroup = Pick<GroupRow, "id" | "organization_id" | "name" | "display_name" | "quota_allowance">;

serve(async (request) => {
  const { input } = ((await readJson(request)) as Request).variables;
  const key = sessionId(request);
  await inTransaction(pool, async (client) => {
    const { rows } = await client.query<LockedGroup>(lockGroup, [input.group]);
    const old = rows[0]!;
    await client.query(updateGroup, [old.id, input.displayName, input.quotaAllowance]);
    const diff = {
      displayName: { old: old.display_name, new: input.displayName },
      quotaAllowance: { old: old.quota_allowance, new: input.quotaAllowance },
    };
    const event = [
      uuidv7(),
      userOf(key),
      key,
      "update",
      "group",
      old.id,
      old.name,
      old.organization_id,
      diff,
      uuidv7(),
    ];
    await client.query(insertAuditEvent, event);
  });
  const { rows } = await pool.query<GroupRow>(selectGroup, [input.group]);
  return JSON.stringify({ data: { updateGroup: { group: graphqlGroup(rows[0]!) } } });
});
