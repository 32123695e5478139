// Storage of @node-oauth/oauth2-server in Postgres.
import { hash, timingSafeEqual } from "node:crypto";
import type OAuth2Server from "@node-oauth/oauth2-server";
import { begin, query } from "./transactions.js";

const hashOf = (text: string) => hash("sha256", text, "buffer");

interface ClientRow {
  secret_hash: Buffer;
  grants: string[];
  redirect_uris: string[];
  scopes: string[];
  service_user_id: string | null;
}

interface TokenRow {
  client_id: string;
  user_id: string;
  username: string;
  scopes: string[];
  issued_at: Date;
  expires_at: Date;
}

const selectClient = `
  select secret_hash, grants, redirect_uris, scopes, service_user_id from oauth2_server.clients where id = $1`;

const selectToken = (table: string) => `
  select t.client_id, t.user_id, u.username, t.scopes, t.issued_at, t.expires_at
  from oauth2_server.${table} t join users u on u.id = t.user_id
  where t.token_hash = $1 and u.status = 'active' and u.deleted_at is null`;

const selectUser = "select id, username from users where id = $1 and status = 'active' and deleted_at is null";

const deleteRefreshToken = "delete from oauth2_server.refresh_tokens where token_hash = $1";

const columns = "(token_hash, client_id, user_id, scopes, issued_at, expires_at)";
const insertAccessToken = `
  insert into oauth2_server.access_tokens ${columns} values ($1, $2, $3, $4, now(), $5)`;
const insertTokens = `
  with refresh as (insert into oauth2_server.refresh_tokens ${columns} values ($6, $2, $3, $4, now(), $7))
  ${insertAccessToken}`;

const holder = ({ client_id, user_id, username, scopes }: TokenRow) => ({
  client: { id: client_id, grants: [] },
  user: { id: user_id, username },
  scope: scopes,
});

/** Returns a false value for objects that are missing, expired, or belong to a suspended user. */
export const model = {
  async getClient(id: string, secret: string) {
    const { rows } = await query<ClientRow>("client", selectClient, [id]);
    const [row] = rows;
    if (!row || !timingSafeEqual(hashOf(secret), row.secret_hash)) return null;
    const { grants, redirect_uris, scopes, service_user_id } = row;
    return { id, grants, redirectUris: redirect_uris, scopes, serviceUserId: service_user_id };
  },

  async getUserFromClient({ serviceUserId }: OAuth2Server.Client) {
    const { rows } = await query<OAuth2Server.User>("user", selectUser, [serviceUserId]);
    return rows[0];
  },

  validateScope: (_: OAuth2Server.User, { scopes }: OAuth2Server.Client, wanted: string[] = scopes as string[]) =>
    Promise.resolve(wanted.every((scope) => (scopes as string[]).includes(scope)) && wanted),

  async getAccessToken(accessToken: string) {
    const { rows } = await query<TokenRow>("access token", selectToken("access_tokens"), [hashOf(accessToken)]);
    const [row] = rows;
    return row && { ...holder(row), accessToken, accessTokenExpiresAt: row.expires_at, issuedAt: row.issued_at };
  },

  async getRefreshToken(refreshToken: string) {
    const { rows } = await query<TokenRow>("refresh token", selectToken("refresh_tokens"), [hashOf(refreshToken)]);
    const [row] = rows;
    return row && { ...holder(row), refreshToken, refreshTokenExpiresAt: row.expires_at };
  },

  /** A rotation spends one token and stores two: a failure in between must not cost the application its access. */
  async revokeToken({ refreshToken }: OAuth2Server.RefreshToken) {
    await begin();
    const { rowCount } = await query("revoke", deleteRefreshToken, [hashOf(refreshToken)]);
    return rowCount === 1;
  },

  async saveToken(token: OAuth2Server.Token, client: OAuth2Server.Client, user: OAuth2Server.User) {
    const { accessToken, accessTokenExpiresAt, refreshToken, refreshTokenExpiresAt, scope } = token;
    const values = [hashOf(accessToken), client.id, user.id, scope, accessTokenExpiresAt];
    if (refreshToken) await query("tokens", insertTokens, [...values, hashOf(refreshToken), refreshTokenExpiresAt]);
    else await query("token", insertAccessToken, values);
    return { ...token, client, user };
  },
};
