import type { InferResult, NotNull } from "kysely";
import { auditAtOnce, auditedAs } from "../kernel/audit.js";
import { authorize, sees } from "../authorization/authorization.js";
import { agentTokens } from "../encryption/columns.js";
import type { Context } from "../kernel/context.js";
import { conflict, notFound } from "../kernel/errors.js";
import { SealBroken } from "../../infrastructure/vault.js";
import { factsOf } from "./agent-access.js";

/** The command that starts an external agent, and its token. */
export interface ExternalAgentCredentials {
  agentToken: string;
  /** A command that fetches and runs the agent on its machine. */
  command: string;
}

/** The external agents of the latest builds of workspaces, which are starts. */
const externalAgents = (ctx: Context) =>
  ctx.db
    .selectFrom("workspaces as w")
    .innerJoin("workspaceAgents as a", "a.buildId", "w.latestBuildId")
    .select(["a.id", "a.name", "a.workspaceId", "a.operatingSystem", "a.architecture"])
    .select(["a.tokenKeyId as keyId", "a.tokenNonce as nonce", "a.tokenCiphertext as ciphertext"])
    .select(factsOf(ctx))
    .where("w.deletedAt", "is", null)
    .where("w.latestTransition", "=", "start")
    .where("a.tokenEndedAt", "is", null)
    .where("a.tokenKeyId", "is not", null)
    .where("a.tokenNonce", "is not", null)
    .where("a.tokenCiphertext", "is not", null)
    .$narrowType<{ keyId: NotNull; nonce: NotNull; ciphertext: NotNull }>();

type ExternalAgent = InferResult<ReturnType<typeof externalAgents>>[number];

/** Reads the credentials of an external agent of the latest start. They remain the same until the next start. */
export async function readExternalAgentCredentials(
  ctx: Context,
  workspaceId: string,
  agentName: string,
): Promise<ExternalAgentCredentials> {
  const agent = await externalAgents(ctx)
    .where("w.id", "=", workspaceId)
    .where("a.name", "=", agentName)
    .executeTakeFirst();
  if (!agent || !sees(ctx.actor, "workspace_agent:read", agent)) throw notFound();
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
