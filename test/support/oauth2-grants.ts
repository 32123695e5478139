// OAuth2 applications, and what the protocol leaves in the tables: grants with their tokens.
import { newId } from "../../src/domain/kernel/ids.js";
import { newToken, randomText } from "../../src/domain/tokens/text.js";
import { type Person, type World } from "./world.js";
import { insert } from "./stage.js";

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
  const times = { created_at: "now", updated_at: "now" };
  const documentUrl = `https://clients.example.com/${id}`;
  const app = {
    ...times,
    id,
    kind,
    name,
    type: "public",
    redirect_uris: ["http://127.0.0.1/callback"],
    pkce_required: true,
    grant_types: ["authorization_code", "refresh_token"],
    metadata: {},
    icon: "",
    is_disabled: false,
    ...(kind === "document" && { document_url: documentUrl }),
  };
  await insert(w, { oauth2_clients: [app] });
  return { id, name, path: `${appsPath}/${id}`, clientId: kind === "document" ? documentUrl : id };
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
  const [id, token, refreshId] = [newId(), newToken("oauth"), randomText(10)];
  await insert(w, {
    oauth2_grants: [
      {
        id,
        user_id: userId,
        client_id: app.id,
        secret_id: secret?.id ?? null,
        scopes,
        audiences: [],
        created_at: "now",
        last_used_at: "now",
        expires_at: expires,
      },
    ],
    oauth2_refresh_tokens: [
      {
        id: refreshId,
        secret_hash: `\\x${"00".repeat(32)}`,
        grant_id: id,
        created_at: "now",
        expires_at: expires,
        repeats: 0,
      },
    ],
    api_keys: [
      {
        id: token.id,
        secret_hash: `\\x${token.secretHash.toString("hex")}`,
        user_id: userId,
        kind: "oauth",
        name: "",
        scopes,
        grant_id: id,
        audiences: [],
        created_at: "now",
        expires_at: "tomorrow",
      },
    ],
  });
  return { id, token: token.text, tokenId: token.id, refreshId };
}
