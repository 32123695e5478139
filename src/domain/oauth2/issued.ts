import type { Context } from "../kernel/context.js";
import { isSecretOf, parseToken } from "../tokens/text.js";
import { type IssuedToken, refreshTokensByIds } from "./recent-tokens.js";
import { parseSecret } from "./secrets.js";

/**
 * Finds a token by its text, active or not, with the resources that an application serves; `undefined` for all other
 * texts. Reads outside of the transaction of the request.
 */
export async function findIssuedToken(
  ctx: Context,
  text: string,
  readerId: string | null,
): Promise<IssuedToken | undefined> {
  const access = parseToken(text);
  const parsed = access?.kind === "oauth" ? access : parseSecret("refreshToken", text);
  if (!parsed) return undefined;
  const kind = parsed === access ? "access" : "refresh";
  const { issuedTokens, database } = ctx.services;
  const found =
    kind === "access"
      ? await issuedTokens.find(parsed.id, readerId)
      : (await database.query(refreshTokensByIds, [[parsed.id], [readerId]]))[0];
  if (!found || !isSecretOf(found.secretHash, parsed.secret)) return undefined;
  return { kind, ...found, isActive: found.isActive && found.expiresAt * 1000 > Date.now() };
}
