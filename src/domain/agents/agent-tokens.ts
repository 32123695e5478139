import type { Context } from "../kernel/context.js";
import { now } from "../kernel/queries.js";
import { machineHint } from "../tokens/machines.js";
import { randomText } from "../../runtime/random.js";
import { hashSecret } from "../tokens/token-text.js";

/** Generates a token of an agent. Of the secret, only the hash is stored. */
export function newAgentToken(): { text: string; hash: Buffer } {
  const secret = randomText(43);
  return { text: `stwa_${secret}`, hash: hashSecret(secret) };
}

/**
 * Ends the tokens of all agents of a workspace: before the agents of a new start are created, and when a stop or a
 * deletion has ended. Their connections are closed after the commit.
 */
export async function endAgentTokens(ctx: Context, workspaceId: string): Promise<void> {
  const ended = await ctx.db
    .updateTable("workspaceAgents")
    .set({ tokenEndedAt: now, tokenCiphertext: null, tokenNonce: null, tokenKeyId: null })
    .where("workspaceId", "=", workspaceId)
    .where("tokenEndedAt", "is", null)
    .returning("id")
    .execute();
  ctx.publish(...ended.map(({ id }) => machineHint(id)));
}
