import { sqlId } from "../data.js";
import { known, users } from "./known.js";
import type { Size } from "./size.js";

/** The template of custom notifications, which every database has. */
export const customTemplate = "d4a6271c-cced-4ed0-84ad-afd02a9c7799";

const scopes = `array['user:read', 'group:read']`;

/** The same applications everywhere, each with as many grants and messages of notifications as the size has tokens. */
export const protocols = ({ users: userCount, apiKeys: count }: Size) => `
  insert into oauth2_clients (id, created_at, updated_at, kind, type, name, redirect_uris, pkce_required, grant_types,
    auth_method, scope_ceiling, metadata)
  select ${sqlId("c", "n")}, now(), now(), 'admin', 'confidential', 'App ' || n, array['https://app.example.com/callback'],
    true, array['authorization_code', 'refresh_token'], 'client_secret_basic', ${scopes}, '{}'
  from generate_series(0, 59) n;

  insert into oauth2_grants (id, user_id, client_id, scopes, audiences, created_at, last_used_at, expires_at)
  select ${sqlId("d", "n")}, case when n < 100 then '${known.user(users.member)}' else ${sqlId("1", `${users.ordinary} + n % ${userCount - users.ordinary}`)} end,
    ${sqlId("c", "case when n < 200 then n % 60 else 1 + n % 59 end")}, ${scopes}, '{}', now(), now(), now() + interval '365 days'
  from generate_series(0, ${count - 1}) n;

  insert into invitations (id, created_at, updated_at, email, name, memberships, inviter_id, inviter_epoch, token_hash, expires_at,
    sent_at)
  select ${sqlId("1", "n")}, now(), now(), 'invited-' || n || '@example.com', 'Invited ' || n, '[]',
    '${known.user(users.owner)}', 0, sha256(n::text::bytea), now() + interval '30 days', now()
  from generate_series(0, ${Math.min(userCount / 10, 10_000) - 1}) n;

  insert into notification_messages (id, event_id, template_id, user_id, method, state, attempts_left, next_attempt_at,
    expires_at, created_at, finished_at)
  select ${sqlId("e", "n")}, ${sqlId("e", "n")}, '${customTemplate}', ${sqlId("1", `n % ${userCount}`)}, 'smtp', 'sent', 4,
    now(), now() + interval '365 days', now() - n * interval '1 second', now()
  from generate_series(0, ${count - 1}) n;

  insert into event_endpoints (id, created_at, updated_at, organization_id, name, url, state, maker_id, position)
  select ${sqlId("7", "n")}, now(), now(), (select id from organizations where is_default), 'Endpoint ' || n,
    'https://events.example.com/' || n, 'paused', '${known.user(users.owner)}', 0
  from generate_series(0, 19) n;

  insert into event_deliveries (id, endpoint_id, event_id, number, type, created_at, state, attempts, next_attempt_at, expires_at,
    finished_at)
  select ${sqlId("7", "n")}, ${sqlId("7", "case when n < 1000 then n % 20 else 0 end")}, ${sqlId("4", "n")}, n, 'group.create',
    now() - n * interval '1 second', case when n % 1000 = 7 then 'failed' else 'delivered' end, 1, now(), now(), now()
  from generate_series(0, ${Math.min(count, 50_000) - 1}) n;

  insert into scim_keys (id, name, source, organization_ids, token_hash, created_at)
  select 'scim' || lpad(n::text, 6, '0'), 'Key ' || n, 'directory-' || n, array[(select id from organizations where is_default)],
    decode(md5(n::text), 'hex'), now() - n * interval '1 day'
  from generate_series(0, 59) n;

  insert into scim_requests (id, scim_key_id, time, method, path, status, detail, request_id)
  select ${sqlId("f", "n")}, 'scim' || lpad((n % 10)::text, 6, '0'), now() - n * interval '1 second', 'GET', '/scim/v2/Users', 400,
    'The filter is wrong.', 'request-' || n
  from generate_series(0, ${Math.min(count, 10_000) - 1}) n;
`;
