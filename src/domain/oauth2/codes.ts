import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { newSecret } from "./secrets.js";

/** What an authorization code is bound to. */
export interface NewCode {
  /** The code expires with the grant, unless it is redeemed before. */
  grantId: string;
  /** Where it is sent. */
  redirectUri: string;
  /** The SHA-256 of the verifier in base64url, if the request had one. */
  codeChallenge: string | undefined;
}

const insertCode = statement(`
  insert into oauth2_codes (id, secret_hash, grant_id, redirect_uri, code_challenge, state, expires_at)
  select $1, $2, id, $4, $5, 'issued', expires_at from oauth2_grants where id = $3`);

/** Issues an authorization code (RFC 6749 §4.1.2). Returns its text, which is not stored. */
export async function issueCode(ctx: Context, { grantId, redirectUri, codeChallenge }: NewCode): Promise<string> {
  const { id, text, secretHash } = newSecret("code");
  await ctx.rows(insertCode, id, secretHash, grantId, redirectUri, codeChallenge ?? null);
  return text;
}
