// OAuth2 applications, and what the protocol leaves in the tables: grants with their tokens.
import { newId, randomText } from "./ids.js";
import { type Person, type World } from "./world.js";
import { insertAccessToken, insertClient, insertGrant, insertRefreshToken } from "./oauth2-rows.js";

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

interface Granted {
  /** The secret with which the application got its latest tokens. */
  secret?: { id: string };
  scopes?: string[];
  /** When the grant expires, as Postgres reads it. */
  expires?: string;
}

/** Inserts a grant of a user with an access token and a refresh token, as after a redeemed code. */
export async function makeGrant(
  w: World,
  app: { id: string },
  { id: userId }: Pick<Person, "id">,
  { secret, scopes = ["all"], expires = "tomorrow" }: Granted = {},
) {
  const grant = await insertGrant(w, userId, app.id, { secret_id: secret?.id ?? null, scopes, expires_at: expires });
  const refresh = await insertRefreshToken(w, grant.id, undefined, expires);
  const access = await insertAccessToken(w, grant);
  return { id: grant.id, token: access.text, tokenId: access.id, refreshId: refresh.id };
}
