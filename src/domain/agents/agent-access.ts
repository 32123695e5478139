import { authorize, sees } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { workspaceAcl } from "../workspaces/workspaces.js";
import { type AgentRow, agents } from "./agents.js";

/**
 * The columns by which the policy decides about an agent: those of its workspace `w`, with the role of the caller in
 * its access list.
 */
export const factsOf = (ctx: Context) => ["w.ownerId", "w.organizationId", workspaceAcl(ctx)] as const;

/** Reads an agent. Throws NOT_FOUND if the caller may not see it. */
export async function readAgent(ctx: Context, id: string): Promise<AgentRow> {
  const agent = await agents(ctx.db)
    .innerJoin("workspaces as w", "w.id", "a.workspaceId")
    .where("a.id", "=", id)
    .where("w.deletedAt", "is", null)
    .select(factsOf(ctx))
    .executeTakeFirst();
  if (!agent || !sees(ctx.actor, "workspace_agent:read", agent)) throw notFound();
  authorize(ctx.actor, "workspace_agent:read", agent);
  return agent;
}
