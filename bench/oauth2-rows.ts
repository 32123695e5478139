// The application, its grants and its tokens in Steward's tables and in those of the peers.
import { ids, members, numbered, sqlHash, sqlId, sqlPublicId, sqlSecret } from "./data.js";
import { client, grants, refreshTtl, scopes, secretId } from "./oauth2.js";
import * as peers from "./peers/oauth2-tables.js";
import { withClient } from "./postgres.js";
import type { Run } from "./run.js";

const serviceAccount = ids.user(members + 1);

/** Adds the application, with its tokens in the state before the first request, until it is disposed of. */
export async function fillOAuth2({ databaseUrl }: Run): Promise<AsyncDisposable> {
  const run = (...statements: string[]) =>
    withClient(databaseUrl, async (connection) => {
      for (const statement of statements) await connection.query(statement);
    });
  await run(insertOAuth2(grants), peers.createTables, insertIntoOidcProvider, insertIntoOAuth2Server, "vacuum analyze");
  return { [Symbol.asyncDispose]: () => run(peers.dropTables, removeFromSteward) };
}

const list = (values: readonly string[]) => `array[${values.map((value) => `'${value}'`).join(", ")}]`;
const grantTypes = ["authorization_code", "refresh_token", "client_credentials"];
const redirectUri = "https://app.example.com/callback";

/** The rows of a series of tokens: `n`, `id`, `secret`, `user_id` and `grant_id`. */
const rowsOf = (series: string, count = grants) => `(
  select n, id, ${sqlSecret("id")} as secret, ${sqlId("1", "n + 1")} as user_id, ${sqlId("d", "n")} as grant_id
  from (select n, ${sqlPublicId(series, "n")} as id from generate_series(0, ${count - 1}) n) numbered) tokens`;

/** Inserts the application, and a grant with tokens of each of the first users behind the owner. */
export const insertOAuth2 = (count: number) => `
  insert into users (id, created_at, updated_at, email, username, login_type, is_service_account)
  values ('${serviceAccount}', now(), now(), 'bench-service@example.com', 'bench-service', 'none', true);

  insert into oauth2_clients (id, created_at, updated_at, kind, type, name, redirect_uris, pkce_required, grant_types,
    auth_method, service_user_id, scope_ceiling, metadata)
  values ('${client.id}', now(), now(), 'admin', 'confidential', 'Bench', array['${redirectUri}'], false,
    ${list(grantTypes)}, 'client_secret_basic', '${serviceAccount}', ${list(scopes)}, '{}');

  insert into oauth2_client_secrets (id, created_at, updated_at, client_id, key, secret_hash, suffix)
  values ('${numbered("c", 2)}', now(), now(), '${client.id}', '${secretId}', ${sqlHash(sqlSecret(`'${secretId}'`))},
    '${client.secret.slice(-6)}');

  insert into oauth2_grants (id, user_id, client_id, scopes, audiences, created_at, last_used_at, expires_at)
  select grant_id, user_id, '${client.id}', ${list(scopes)}, '{}', now(), now(), now() + interval '365 days'
  from ${rowsOf("a", count)};

  insert into oauth2_refresh_tokens (id, secret_hash, grant_id, created_at, expires_at)
  select id, ${sqlHash("secret")}, grant_id, now(), now() + interval '${refreshTtl} s'
  from ${rowsOf("r", count)};

  insert into api_keys (id, secret_hash, user_id, kind, scopes, grant_id, created_at, last_used_at, expires_at)
  select id, ${sqlHash("secret")}, user_id, 'oauth', ${list(scopes)}, grant_id, now(), now() + interval '1 hour',
    now() + interval '1 day'
  from ${rowsOf("a", count)}`;

const removeFromSteward = `
  delete from oauth2_clients where id = '${client.id}';
  delete from users where id = '${serviceAccount}'`;

/** Times of the provider's payloads, in seconds. */
const lives = (interval: string) =>
  `'iat', extract(epoch from now())::int, 'exp', extract(epoch from now() + interval '${interval}')::int`;

const ofGrant = `'accountId', user_id, 'clientId', '${client.id}', 'grantId', grant_id, 'gty', 'authorization_code',
  'scope', '${scopes.join(" ")}'`;

const insertIntoOidcProvider = `
  insert into oidc_provider.client (id, payload) values (${sqlHash(`'${client.id}'`)}, '${JSON.stringify({
    client_id: client.id,
    client_secret: client.secret,
    redirect_uris: [redirectUri],
    grant_types: grantTypes,
    response_types: ["code"],
    scope: scopes.join(" "),
    token_endpoint_auth_method: "client_secret_basic",
  })}');

  insert into oidc_provider."grant" (id, payload, expires_at)
  select ${sqlHash("grant_id::text")}, json_build_object('kind', 'Grant', ${lives("365 days")},
    'accountId', user_id, 'clientId', '${client.id}', 'openid', json_build_object('scope', '${scopes.join(" ")}')),
    now() + interval '365 days'
  from ${rowsOf("a")};

  insert into oidc_provider.refresh_token (id, payload, grant_id, expires_at)
  select ${sqlHash("secret")}, json_build_object('kind', 'RefreshToken', ${lives(`${refreshTtl} s`)},
    'iiat', extract(epoch from now())::int, 'rotations', 0, ${ofGrant}), grant_id, now() + interval '${refreshTtl} s'
  from ${rowsOf("r")};

  insert into oidc_provider.access_token (id, payload, grant_id, expires_at)
  select ${sqlHash("secret")}, json_build_object('kind', 'AccessToken', ${lives("1 day")}, 'extra',
    json_build_object(), ${ofGrant}), grant_id, now() + interval '1 day'
  from ${rowsOf("a")}`;

const insertIntoOAuth2Server = `
  insert into oauth2_server.clients (id, secret_hash, grants, redirect_uris, scopes, service_user_id)
  values ('${client.id}', ${sqlHash(`'${client.secret}'`)}, ${list(grantTypes)}, array['${redirectUri}'], ${list(scopes)},
    '${serviceAccount}');

  insert into oauth2_server.refresh_tokens (token_hash, client_id, user_id, scopes, issued_at, expires_at)
  select ${sqlHash("secret")}, '${client.id}', user_id, ${list(scopes)}, now(),
    now() + interval '${refreshTtl} s'
  from ${rowsOf("r")};

  insert into oauth2_server.access_tokens (token_hash, client_id, user_id, scopes, issued_at, expires_at)
  select ${sqlHash("secret")}, '${client.id}', user_id, ${list(scopes)}, now(), now() + interval '1 day'
  from ${rowsOf("a")}`;
