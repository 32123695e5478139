// What tests of OAuth2 need and other parts of the program make: applications, and access tokens of grants.
import { newId } from "../../src/domain/kernel/ids.js";
import { newToken } from "../../src/domain/tokens/text.js";
import type { Person, World } from "./world.js";

/** Creates an application. */
export async function makeApp({ app }: World, kind = "admin"): Promise<string> {
  const id = newId();
  await app.services.database.pool.query(
    `insert into oauth2_clients (id, created_at, updated_at, kind, type, name, redirect_uris, pkce_required, grant_types, metadata)
     values ($1, now(), now(), $2, 'confidential', 'Night Watch', '{https://watch.example.com/}', false, '{authorization_code}', '{}')`,
    [id, kind],
  );
  return id;
}

/** Creates a grant of a user for an application, and returns its id. */
export async function makeGrant({ app }: World, userId: string, clientId: string): Promise<string> {
  const id = newId();
  await app.services.database.pool.query(
    `insert into oauth2_grants (id, user_id, client_id, scopes, audiences, created_at, last_used_at, expires_at)
     values ($1, $2, $3, '{all}', '{}', now(), now(), now() + interval '1 day')`,
    [id, userId, clientId],
  );
  return id;
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
  const grantId = await makeGrant(w, id, clientId ?? (await makeApp(w)));
  const token = newToken("oauth");
  await w.app.services.database.pool.query(
    `insert into api_keys (id, secret_hash, user_id, kind, scopes, audiences, grant_id, created_at, expires_at)
     values ($1, $2, $3, 'oauth', $4, $5, $6, now(), now() + interval '1 hour')`,
    [token.id, token.secretHash, id, scopes, audiences, grantId],
  );
  return token.text;
}
