// Rows of OAuth2 as the server stores them: the only way in which tests insert them. Times are as Postgres reads them.
import { newSecret, newToken, type NewToken } from "./token-rows.js";
import { newId } from "./ids.js";
import { insert } from "./stage.js";
import type { World } from "./world.js";

type Columns = Record<string, unknown>;

/** The time some milliseconds from now. */
export const inMs = (milliseconds: number): string => new Date(Date.now() + milliseconds).toISOString();

/** Bytes as Postgres reads them. */
export const bytes = (content: Buffer): string => `\\x${content.toString("hex")}`;

/** Inserts an application: by default a confidential one of an administrator, without a secret. Returns its row. */
export async function insertClient<Given extends Columns>(w: World, columns: Given) {
  const row = {
    id: newId(),
    created_at: "now",
    updated_at: "now",
    kind: "admin",
    type: "confidential",
    name: "Client",
    icon: "",
    redirect_uris: ["https://client.example/callback"],
    pkce_required: false,
    grant_types: ["authorization_code", "refresh_token"],
    metadata: {},
    is_disabled: false,
    ...columns,
  };
  await insert(w, { oauth2_clients: [row] });
  return row;
}

/** Inserts a secret of an application. Returns its id and its text. */
export async function insertSecret(w: World, clientId: string, expires: string | null = null) {
  const { id: key, text, secretHash } = newSecret("clientSecret");
  const id = newId();
  const times = { created_at: "now", updated_at: "now", expires_at: expires };
  const row = { id, client_id: clientId, key, secret_hash: bytes(secretHash), suffix: text.slice(-6), ...times };
  await insert(w, { oauth2_client_secrets: [row] });
  return { id, text };
}

/** Inserts a grant of a user for an application, by default for a day. Returns its row. */
export async function insertGrant<Given extends Columns>(w: World, userId: string, clientId: string, columns: Given) {
  const row = {
    id: newId(),
    user_id: userId,
    client_id: clientId,
    scopes: ["all"],
    audiences: [],
    created_at: "now",
    last_used_at: "now",
    expires_at: inMs(86_400_000),
    ...columns,
  };
  await insert(w, { oauth2_grants: [row] });
  return row;
}

/** The columns that the tokens of a grant take from it. */
interface Granted {
  id: string;
  user_id: string;
  scopes: unknown;
  audiences: unknown;
}

/** Inserts an access token of a grant, by default for an hour. Returns its id and its text. */
export async function insertAccessToken(w: World, { id: grantId, user_id, scopes, audiences }: Granted) {
  const { id, text, secretHash } = newToken("oauth");
  const times = { created_at: "now", expires_at: inMs(3_600_000) };
  const owner = { user_id, kind: "oauth", name: "", scopes, audiences, grant_id: grantId };
  await insert(w, { api_keys: [{ id, secret_hash: bytes(secretHash), ...owner, ...times }] });
  return { id, text };
}

/** Inserts a refresh token of a grant, by default a new one. Returns its id and its text. */
export async function insertRefreshToken(
  w: World,
  grantId: string,
  { id, text, secretHash }: NewToken = newSecret("refreshToken"),
  expires = inMs(86_400_000),
) {
  const times = { created_at: "now", expires_at: expires };
  const row = { id, secret_hash: bytes(secretHash), grant_id: grantId, repeats: 0, ...times };
  await insert(w, { oauth2_refresh_tokens: [row] });
  return { id, text };
}
