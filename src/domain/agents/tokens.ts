import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { machineHint } from "../tokens/machines.js";
import { hashSecret, randomText } from "../tokens/text.js";

/** Generates a token of an agent. Of the secret, only the hash is stored. */
export function newAgentToken(): { text: string; hash: Buffer } {
  const secret = randomText(43);
  return { text: `stwa_${secret}`, hash: hashSecret(secret) };
}

const endTokens = statement<{ id: string }>(`
  update workspace_agents
  set token_ended_at = now(), token_ciphertext = null, token_nonce = null, token_key_id = null
  where workspace_id = $1 and token_ended_at is null
  returning id`);

/**
 * Ends the tokens of all agents of a workspace: before the agents of a new start are created, and when a stop or a
 * deletion has ended. Their connections are closed after the commit.
 */
export async function endAgentTokens(ctx: Context, workspaceId: string): Promise<void> {
  const ended = await ctx.rows(endTokens, workspaceId);
  ctx.publish(...ended.map(({ id }) => machineHint(id)));
}
