// One prepared select of the session with the groups of an organization, as REST and as GraphQL spell them.
import type { IncomingMessage } from "node:http";
import { graphqlGroup, groupBody, type ListedGroupRow, selectGroupsWithSession } from "./groups.js";
import { pool, readJson, serve } from "./serve.js";
import { checkSecret, type Session, sessionId } from "./sessions.js";

async function listed(request: IncomingMessage, organization: string, limit: number): Promise<ListedGroupRow[]> {
  const { rows } = await pool.query<ListedGroupRow & Session>({
    name: "groups",
    text: selectGroupsWithSession,
    values: [organization, sessionId(request), limit],
  });
  const [row] = rows;
  if (!row) throw new Error("not found");
  checkSecret(request, row.secret_hash);
  return rows.map((each) => ({
    ...each,
    total_member_count: each.organization_member_count ?? each.total_member_count,
  }));
}

serve(async (request) => {
  if (request.method === "GET") {
    const { searchParams } = new URL(request.url!, "http://localhost");
    const rows = await listed(request, searchParams.get("organization")!, 1_000_000);
    return JSON.stringify(rows.map((row) => groupBody(row)));
  }
  const { variables } = (await readJson(request)) as { variables: { organization: string } };
  const rows = await listed(request, variables.organization, 20);
  return JSON.stringify({ data: { organizationGroups: { nodes: rows.map(graphqlGroup) } } });
});
