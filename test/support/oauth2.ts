// OAuth2: applications, their requests, grants, and tokens. Applications that tests are not about, and what users decide
// on pages, are inserted as the server stores them, which saves hundreds of requests. Times are as Postgres reads them.
import { hash } from "node:crypto";
import { inMs, tomorrow } from "./clock.js";
import { newId, randomText } from "./ids.js";
import { insert } from "./stage.js";
import { hashSecret, newSecret, newToken, type NewToken, type SecretKind } from "./token-rows.js";
import type { Answer, Person, World } from "./world.js";

type Columns = Record<string, unknown>;

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

export interface OAuthApp {
  id: string;
  name: string;
  redirectUri: string;
}

/** Adds an application: by default, one that an administrator made. `columns` are those of `oauth2_clients`. */
export async function oauthApp(w: World, columns: Record<string, unknown> = {}): Promise<OAuthApp> {
  const redirect_uris = ["https://bot.example.com/callback"];
  const row = await insertClient(w, { name: "Deploy Bot", redirect_uris, ...columns });
  return { id: row.id, name: row.name, redirectUri: row.redirect_uris[0]! };
}

/** The columns of an application that registered itself. */
export const selfRegistered = { kind: "dynamic", type: "public", pkce_required: true, auth_method: "none" };

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** Adds a pending device code. Returns its user code. */
export async function deviceCode(w: World, app: Pick<OAuthApp, "id">, columns: Record<string, unknown> = {}) {
  const { id, secretHash } = newSecret("deviceCode");
  const userCode = randomText(8, "BCDFGHJKLMNPQRSTVWXZ");
  const row = {
    id,
    secret_hash: bytes(secretHash),
    user_code: userCode,
    client_id: app.id,
    scopes: ["user:read", "workspace:*"],
    audiences: [],
    state: "pending",
    ip: "203.0.113.7",
    created_at: "now",
    expires_at: tomorrow(),
    poll_interval: 5,
    ...columns,
  };
  await insert(w, { oauth2_device_codes: [row] });
  return userCode;
}

/** The path of an authorization request. An undefined parameter is left out, one with a list is repeated. */
export function authorizePath(
  { id }: Pick<OAuthApp, "id">,
  changes: Record<string, string | string[] | undefined> = {},
): string {
  const query = new URLSearchParams();
  const parameters = { response_type: "code", client_id: id, state: "xyz", scope: "workspace:read", ...changes };
  for (const [name, value] of Object.entries(parameters))
    for (const each of [value ?? []].flat()) query.append(name, each);
  return `/oauth2/authorize?${query.toString()}`;
}

export const appsPath = "/api/v2/oauth2-provider/apps";

/** An application that the owner created, with a secret. */
export async function makeApp(w: World, name = `app-${randomText(6)}`) {
  const owner = w.as(w.owner);
  const { body: app } = await owner.post(appsPath, { name, callback_url: "https://app.example.com/callback" });
  const { body } = await owner.post(`${appsPath}/${app.id}/secrets`);
  const [secret] = body as [{ id: string; client_secret_full: string }];
  return { id: app.id as string, name, path: `${appsPath}/${app.id}`, secret };
}

/** Inserts an application of a kind that no administrator creates. */
export async function insertApp(w: World, kind: "dynamic" | "document", name = `${kind}-${randomText(6)}`) {
  const id = newId();
  const documentUrl = kind === "document" ? `https://clients.example.com/${id}` : undefined;
  await insertClient(w, {
    id,
    kind,
    name,
    type: "public",
    redirect_uris: ["http://127.0.0.1/callback"],
    pkce_required: true,
    ...(documentUrl && { document_url: documentUrl }),
  });
  return { id, name, path: `${appsPath}/${id}`, clientId: documentUrl ?? id };
}

interface WithTokens {
  /** The secret with which the application got its latest tokens. */
  secret?: { id: string };
  scopes?: string[];
  /** When the grant expires, as Postgres reads it. */
  expires?: string;
}

/** Inserts a grant of a user with an access token and a refresh token, as after a redeemed code. */
export async function grantWithTokens(
  w: World,
  app: { id: string },
  { id: userId }: Pick<Person, "id">,
  { secret, scopes = ["all"], expires = tomorrow() }: WithTokens = {},
) {
  const grant = await insertGrant(w, userId, app.id, { secret_id: secret?.id ?? null, scopes, expires_at: expires });
  const refresh = await insertRefreshToken(w, grant.id, undefined, expires);
  const access = await insertAccessToken(w, grant);
  return { id: grant.id, token: access.text, tokenId: access.id, refreshId: refresh.id };
}

interface Access {
  scopes?: string[];
  audiences?: string[];
  clientId?: string;
}

/** Creates an access token of a user for an application. */
export async function makeAccess(
  w: World,
  { id }: Pick<Person, "id">,
  { scopes = ["all"], audiences = [], clientId }: Access = {},
): Promise<string> {
  const grant = await insertGrant(
    w,
    id,
    clientId ?? (await insertClient(w, { grant_types: ["authorization_code"] })).id,
    { scopes, audiences },
  );
  return (await insertAccessToken(w, grant)).text;
}

export const redirectUri = "https://client.example/callback";
export const verifier = "a-code-verifier-of-at-least-forty-three-characters";
export const challengeOf = (text: string): string => hash("sha256", text, "base64url");
export const challenge = challengeOf(verifier);

/** An application; `secret` is absent for public ones. */
export interface OAuthClient {
  id: string;
  secret: string | undefined;
  secretId: string | undefined;
}

interface ClientColumns {
  id: string;
  type: "confidential" | "public";
  scope_ceiling: string[] | null;
  grant_types: string[];
  auth_method: string | null;
  service_user_id: string | null;
  redirect_uris: string[];
  is_disabled: boolean;
  pkce_required: boolean;
}

const run = (w: World, text: string, values: unknown[]) => w.app.services.database.pool.query(text, values);

/** Creates an application that may use all grant types, with a secret unless it is public. */
export async function makeClient(w: World, changes: Partial<ClientColumns> = {}): Promise<OAuthClient> {
  const { id, type } = await insertClient(w, {
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token", "client_credentials", deviceGrant],
    ...changes,
  });
  if (type === "public") return { id, secret: undefined, secretId: undefined };
  return { id, ...(await makeSecret(w, id)) };
}

/** Adds a secret to an application. */
export async function makeSecret(w: World, clientId: string, expires?: string) {
  const { id, text } = await insertSecret(w, clientId, expires);
  return { secret: text, secretId: id };
}

/** Changes an application as the owner. */
export async function changeApp(w: World, { id }: { id: string }, changes: object): Promise<void> {
  await w
    .as(w.owner)
    .graphql(`mutation($input: UpdateOAuth2AppInput!) { updateOAuth2App(input: $input) { __typename } }`, {
      input: { id, ...changes },
    });
}

export interface Grant {
  id: string;
  user: { id: string };
  scopes: string[];
  audiences: string[];
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  revokedAt: string | null;
  revokeReason: string | null;
}

/** The grants for an application, oldest first, also those that ended. */
export async function grantsOf(w: World, { id: app }: { id: string }): Promise<Grant[]> {
  const { oauth2Grants } = await w.as(w.owner).graphql(
    `query($app: UUID!) { oauth2Grants(app: $app, includeEnded: true, first: 1000) { nodes {
       id user { id } scopes audiences createdAt lastUsedAt expiresAt revokedAt revokeReason } } }`,
    { app },
  );
  return oauth2Grants.nodes.toReversed();
}

/** The status of a request with an access token: 200 while it is valid. */
export const statusOf = async (w: World, token: string): Promise<number> =>
  (await w.as({ token }).post("/graphql", { query: "{ me { id } }" })).status;

/** Asks for codes for a device. */
export const startDevice = async (w: World, client: OAuthClient, more: Record<string, string> = {}) =>
  (await sendForm(w, "device_authorization", { ...credentials(client), ...more })).body;

/** Asks, as a device, for the tokens of its code. */
export const pollDevice = (w: World, client: OAuthClient, code: string) =>
  sendForm(w, "tokens", { grant_type: deviceGrant, ...credentials(client), device_code: code });

interface GrantColumns {
  scopes: string[];
  audiences: string[];
  codeChallenge: string | null;
  redirectUri: string;
  /** When it expires, as Postgres reads it. */
  expires: string;
}

/** Creates a grant of a user, as the consent page does. */
async function makeGrant(
  w: World,
  client: OAuthClient,
  user: Pick<Person, "id">,
  { scopes = ["user:read", "workspace:read"], audiences = [], expires = inMs(600_000) }: Partial<GrantColumns> = {},
): Promise<string> {
  return (await insertGrant(w, user.id, client.id, { scopes, audiences, expires_at: expires })).id;
}

/** Creates a grant with an authorization code. */
export async function makeCode(
  w: World,
  client: OAuthClient,
  user: Pick<Person, "id">,
  changes: Partial<GrantColumns> = {},
): Promise<{ code: string; grantId: string }> {
  const grantId = await makeGrant(w, client, user, changes);
  const code = newSecret("code");
  const row = {
    id: code.id,
    secret_hash: bytes(code.secretHash),
    grant_id: grantId,
    redirect_uri: changes.redirectUri ?? redirectUri,
    code_challenge: changes.codeChallenge ?? null,
    state: "issued",
    expires_at: changes.expires ?? inMs(600_000),
  };
  await insert(w, { oauth2_codes: [row] });
  return { code: code.text, grantId };
}

/** Approves a device code for a user, as the device page does. */
export async function approveDevice(w: World, client: OAuthClient, user: Pick<Person, "id">, code: string) {
  const grantId = await makeGrant(w, client, user);
  await run(w, `update oauth2_device_codes set state = 'approved', grant_id = $2 where id = $1`, [idOf(code), grantId]);
  return grantId;
}

/** Lets time pass since a refresh token of a grant was used: `30 s`. */
export const spendEarlier = (w: World, token: string, by: string) =>
  run(w, "update oauth2_refresh_tokens set spent_at = spent_at - $2::interval where id = $1", [idOf(token), by]);

/** The public part of a secret. */
export const idOf = (text: string): string => text.split("_")[1]!;

/** A secret of the right form that does not exist. */
export const unknownSecret = (kind: SecretKind): string => newSecret(kind).text;

/** Sends a form to an endpoint below `/oauth2`. Absent values are left out. */
export const sendForm = (
  w: World,
  path: string,
  fields: Record<string, string | string[] | undefined>,
  headers: Record<string, string> = {},
): Promise<Answer> => {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) for (const each of [value ?? []].flat()) form.append(name, each);
  return w.nobody.post(`/oauth2/${path}`, form.toString(), {
    "Content-Type": "application/x-www-form-urlencoded",
    ...headers,
  });
};

/** The credentials of an application, as parameters. */
export const credentials = ({ id, secret }: OAuthClient) => ({ client_id: id, client_secret: secret });

/** `Authorization: Basic` with the parts form-encoded (RFC 6749 §2.3.1). */
export const basic = (id: string, secret: string) => {
  const encoded = (text: string) => encodeURIComponent(text).replaceAll("%20", "+");
  return { Authorization: `Basic ${Buffer.from(`${encoded(id)}:${encoded(secret)}`).toString("base64")}` };
};

export const redeem = (w: World, client: OAuthClient, code: string, more: Record<string, string | string[]> = {}) =>
  sendForm(w, "tokens", { grant_type: "authorization_code", ...credentials(client), code, ...more });

export const refresh = (w: World, client: OAuthClient, token: string, more: Record<string, string | string[]> = {}) =>
  sendForm(w, "tokens", { grant_type: "refresh_token", ...credentials(client), refresh_token: token, ...more });

/** Creates the application and the refresh token of an example. */
export async function makeExample(w: World, example: Record<string, string>): Promise<void> {
  const { client_id: id = "", client_secret: secret = "", refresh_token: token } = example;
  const [{ rowCount }] = [await run(w, "select from oauth2_clients where id = $1", [id])];
  if (rowCount === 0) {
    await makeClient(w, { id });
    await run(w, "update oauth2_client_secrets set key = $2, secret_hash = $3 where client_id = $1", [
      id,
      ...stored(secret),
    ]);
  }
  if (token === undefined) return;
  const grantId = await makeGrant(w, { id, secret, secretId: undefined }, w.owner);
  const secretHash = hashSecret(token.split("_")[2]!);
  await insertRefreshToken(w, grantId, { id: idOf(token), text: token, secretHash });
}

const stored = (text: string) => [idOf(text), hashSecret(text.split("_")[2]!)];
