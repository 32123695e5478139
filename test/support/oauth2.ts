// OAuth2 applications, their requests, and device codes, inserted directly into the tables.
import { createHash } from "node:crypto";
import { randomText } from "./ids.js";
import { newSecret } from "./token-rows.js";
import { bytes, insertClient } from "./oauth2-rows.js";
import { insert } from "./stage.js";
import type { World } from "./world.js";

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
    expires_at: "tomorrow",
    poll_interval: 5,
    ...columns,
  };
  await insert(w, { oauth2_device_codes: [row] });
  return userCode;
}

export const verifier = "a".repeat(43);
export const challenge = createHash("sha256").update(verifier).digest("base64url");

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
