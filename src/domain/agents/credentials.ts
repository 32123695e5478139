import { auditAtOnce, auditedAs } from "../audit/audit.js";
import { authorize } from "../authorization/authorization.js";
import { agentTokens } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { conflict } from "../kernel/errors.js";
import { SealBroken } from "../outside/vault.js";
import { type ExternalAgent, findExternalAgent } from "./access.js";

/** What starts an external agent. */
export interface ExternalAgentCredentials {
  agentToken: string;
  /** A command that fetches and runs the agent on its machine. */
  command: string;
}

/** Reads the credentials of an external agent of the latest start. They remain the same until the next start. */
export async function readExternalAgentCredentials(
  ctx: Context,
  workspaceId: string,
  agentName: string,
): Promise<ExternalAgentCredentials> {
  const agent = await findExternalAgent(ctx, workspaceId, agentName);
  authorize(ctx.actor, "workspace_agent:read_credentials", agent);
  const agentToken = tokenOf(ctx, agent);
  const audited = auditedAs("workspace_agent", agent.id, agent.name, agent.organizationId);
  const diff = { workspaceId: { new: workspaceId } };
  await auditAtOnce(ctx, { action: "deliver", ...audited, diff });
  return { agentToken, command: commandOf(ctx, agent, agentToken) };
}

function tokenOf({ services }: Context, agent: ExternalAgent): string {
  try {
    return services.vault.open(agentTokens.place({ id: agent.id, ownerId: agent.workspaceId }), agent);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    services.log.warn({ agent: agent.id }, "The token of an external agent cannot be decrypted.");
    throw conflict("The token of the agent cannot be read. Start the workspace again.");
  }
}

function commandOf({ config }: Context, { operatingSystem, architecture }: ExternalAgent, token: string): string {
  const url = `${config.accessUrl}/api/v2/init-script/${operatingSystem}/${architecture}`;
  return operatingSystem === "windows"
    ? `$env:STEWARD_AGENT_TOKEN="${token}"; iwr -useb "${url}" | iex`
    : `curl -fsSL "${url}" | STEWARD_AGENT_TOKEN="${token}" sh`;
}
