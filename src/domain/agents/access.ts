import { authorize, type ObjectOf, sees } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound } from "../kernel/errors.js";
import { accessOf } from "../workspaces/workspaces.js";
import { agentColumns, type AgentRow } from "./agents.js";

/** What the rules of the policy read of an agent: those of its workspace. */
type AgentFacts = ObjectOf<"workspace_agent:read">;

/** The values of the workspace `w`, with the role of the user `$2` in its access list. */
const ofWorkspace = `w.owner_id as "ownerId", w.organization_id as "organizationId", ${accessOf("w", "$2")} as acl`;

const agentById = statement<AgentRow & AgentFacts>(`
  select ${agentColumns}, ${ofWorkspace} from workspace_agents a join workspaces w on w.id = a.workspace_id
  where a.id = $1 and w.deleted_at is null`);

/** Finds an agent that the caller may see. Throws NOT_FOUND otherwise. */
export async function findAgent(ctx: Context, id: string): Promise<AgentRow & AgentFacts> {
  const agent = await ctx.row(agentById, id, userIdOf(ctx.actor) ?? null);
  if (!agent || !sees(ctx.actor, "workspace_agent:read", agent)) throw notFound();
  return agent;
}

/** Reads an agent. */
export async function readAgent(ctx: Context, id: string): Promise<AgentRow> {
  const agent = await findAgent(ctx, id);
  authorize(ctx.actor, "workspace_agent:read", agent);
  return agent;
}

/** An external agent of the latest start of a workspace, with its token. */
export interface ExternalAgent extends AgentFacts {
  id: string;
  name: string;
  workspaceId: string;
  operatingSystem: AgentRow["operatingSystem"];
  architecture: AgentRow["architecture"];
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

const externalAgent = statement<ExternalAgent>(`
  select a.id, a.name, a.workspace_id as "workspaceId", a.operating_system as "operatingSystem", a.architecture,
    a.token_key_id as "keyId", a.token_nonce as nonce, a.token_ciphertext as ciphertext, ${ofWorkspace}
  from workspaces w join workspace_agents a on a.build_id = w.latest_build_id
  where w.id = $1 and a.name = $3 and w.deleted_at is null and w.latest_transition = 'start'
    and a.token_ended_at is null and a.token_ciphertext is not null`);

/** Finds an external agent of the latest build by its name. Throws NOT_FOUND if the caller may not see it. */
export async function findExternalAgent(ctx: Context, workspaceId: string, name: string): Promise<ExternalAgent> {
  const agent = await ctx.row(externalAgent, workspaceId, userIdOf(ctx.actor) ?? null, name);
  if (!agent || !sees(ctx.actor, "workspace_agent:read", agent)) throw notFound();
  return agent;
}
