// OAuth2 applications, grants and codes, inserted as the parts of the server that create them do.
import { hash } from "node:crypto";
import { hashSecret, newSecret, type SecretKind } from "./token-rows.js";
import { bytes, inMs, insertClient, insertGrant, insertRefreshToken, insertSecret } from "./oauth2-rows.js";
import { insert } from "./stage.js";
import type { Answer, Person, World } from "./world.js";

export const redirectUri = "https://client.example/callback";
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
export const verifier = "a-code-verifier-of-at-least-forty-three-characters";
export const challengeOf = (text: string): string => hash("sha256", text, "base64url");

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

/** Makes the server read an application again, which it caches for a second. */
export const forget = ({ app }: World, { id }: OAuthClient) =>
  app.services.events.publish({ topic: "auth", id: `c:${id}` });

interface GrantColumns {
  scopes: string[];
  audiences: string[];
  codeChallenge: string | null;
  redirectUri: string;
  /** When it expires, as Postgres reads it. */
  expires: string;
}

/** Creates a grant of a user, as the consent page does. */
export async function makeGrant(
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
export async function approveDevice(w: World, client: OAuthClient, user: Pick<Person, "id">, deviceCode: string) {
  const grantId = await makeGrant(w, client, user);
  await run(w, `update oauth2_device_codes set state = 'approved', grant_id = $2 where id = $1`, [
    idOf(deviceCode),
    grantId,
  ]);
  return grantId;
}

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
