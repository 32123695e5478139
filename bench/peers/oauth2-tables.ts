// Tables of the OAuth2 peers. Like Steward, they keep hashes of tokens, and have an index for everything that is looked
// up or expires.

/** The models of oidc-provider that the benches use, and the table of each. */
export const oidcProviderTables: Readonly<Record<string, string>> = {
  AccessToken: "access_token",
  Client: "client",
  ClientCredentials: "client_credentials",
  Grant: '"grant"',
  RefreshToken: "refresh_token",
};

/** The models whose rows belong to a grant. */
const ofGrants = new Set(["AccessToken", "RefreshToken"]);

const createOidcProviderTable = ([model, table]: [string, string]) => `
  create table oidc_provider.${table} (
    id bytea primary key,
    payload json not null,
    grant_id text,
    consumed_at timestamptz,
    expires_at timestamptz
  );
  create index on oidc_provider.${table} (expires_at);
  ${ofGrants.has(model) ? `create index on oidc_provider.${table} (grant_id);` : ""}`;

const createOAuth2ServerTokens = (table: string) => `
  create table oauth2_server.${table} (
    token_hash bytea primary key,
    client_id uuid not null references oauth2_server.clients on delete cascade,
    user_id uuid not null references users on delete cascade,
    scopes text[] not null,
    issued_at timestamptz not null,
    expires_at timestamptz not null
  );
  create index on oauth2_server.${table} (client_id);
  create index on oauth2_server.${table} (user_id);
  create index on oauth2_server.${table} (expires_at);`;

export const createTables = `
  create schema oidc_provider;
  ${Object.entries(oidcProviderTables).map(createOidcProviderTable).join("")}

  create schema oauth2_server;
  create table oauth2_server.clients (
    id uuid primary key,
    secret_hash bytea not null,
    grants text[] not null,
    redirect_uris text[] not null,
    scopes text[] not null,
    service_user_id uuid references users on delete cascade
  );
  ${["access_tokens", "refresh_tokens"].map(createOAuth2ServerTokens).join("")}`;

export const dropTables = `drop schema if exists oidc_provider, oauth2_server cascade`;
