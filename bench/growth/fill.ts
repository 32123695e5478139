import { insertSessions, sqlId } from "../data.js";
import { known, sessionSeries, sideGroups, users } from "./known.js";
import { protocols } from "./fill-protocols.js";
import { provisioning } from "./fill-provisioning.js";
import { tasks } from "./fill-tasks.js";
import type { Size } from "./size.js";

/** The time of the `n`th of `count` rows, spread evenly over some days before a fixed moment. */
const spread = (count: number, days: number) =>
  `(timestamptz '2026-11-01T00:00:00Z' - (${count} - 1 - n) * interval '${(days * 86_400) / count} seconds')`;

/** A repeating choice of a row's values. */
const oneOf = (values: readonly string[], nr = "n") =>
  `(array[${values.map((value) => `'${value}'`).join(",")}])[${nr} % ${values.length} + 1]`;

const defaultOrganization = "(select id from organizations where is_default)";
const ordinary = users.ordinary;
const living = `n < ${ordinary} or n % 100 <> 97`;

/** SQL that fills a database in which a server has created the tables, the default organization, and a key. */
export function fillSql(size: Size): string {
  return [
    people(size),
    groups(size),
    inboxes(size),
    logs(size),
    credentials(size),
    workspaces(size),
    provisioning(size),
    tasks(size),
    protocols(size),
  ].join("\n");
}

const people = (size: Size) => `
  insert into users (id, created_at, updated_at, email, username, name, login_type, status, site_roles,
    is_service_account, last_seen_at, deleted_at)
  select ${sqlId("1", "n")}, ${spread(size.users, 300)}, ${spread(size.users, 300)},
    'user-' || n || '@example.com', case n when ${users.zebulon} then 'zebulon' else 'user-' || n end,
    case n when ${users.zebulon} then 'Zebulon Quick' else 'User ' || n end,
    case when n < ${ordinary} then 'password' else ${oneOf(["password", "password", "oidc", "github", "none"])} end,
    case when n >= ${ordinary} and n % 20 = 19 then 'suspended' else 'active' end,
    case when n = ${users.owner} then array['owner'] when n between 60 and 64 then array['auditor'] else '{}' end,
    n >= ${ordinary} and n % 50 = 49, ${spread(size.users, 60)},
    case when not (${living}) then timestamptz '2026-11-02T00:00:00Z' end
  from generate_series(0, ${size.users - 1}) n;

  insert into organizations (id, created_at, updated_at, name, display_name)
  values ('${known.sideOrganization}', now(), now(), 'side', 'Side');
  insert into groups (id, created_at, updated_at, organization_id, name)
  values ('${known.sideOrganization}', now(), now(), '${known.sideOrganization}', 'Everyone');

  insert into organization_members (organization_id, user_id, roles, created_at)
  select ${defaultOrganization}, ${sqlId("1", "n")},
    case when n = ${users.administrator} then array['organization-admin']
      when n between 70 and 74 then array['organization-auditor'] else '{}' end, ${spread(size.users, 300)}
  from generate_series(0, ${size.users - 1}) n where ${living};
  insert into organization_members (organization_id, user_id, roles, created_at)
  select '${known.sideOrganization}', ${sqlId("1", "n")},
    case n when ${users.sideAdministrator} then array['organization-admin'] else '{}' end, now()
  from (select ${users.sideAdministrator} as n union all select generate_series(${ordinary}, ${ordinary + 38})) side;

  insert into scim_user_links (source, user_id, external_id, user_name, attributes)
  select 'default', id, 'ext-' || n, 'Linked-' || n || '@Example.com', scim_attributes(email, name, username, avatar_url)
  from (select *, substring(username from 6)::int as n from users where username ~ '^user-\\d+$' and deleted_at is null) u
  where n >= ${ordinary} and n % 2 = 0;

  insert into user_quiet_hours (user_id, schedule)
  select ${sqlId("1", "n")}, 'CRON_TZ=Europe/Berlin 30 2 * * *'
  from generate_series(${users.member}, ${size.users - 1}, 10) n;

  insert into ai_usage (id, user_id, organization_id, amount_micros, at)
  select ${sqlId("c", "n")}, ${sqlId("1", `case when n < 100 then ${users.member} else ${ordinary} + n % ${size.users - ordinary} end`)},
    ${defaultOrganization}, 1000, now() from generate_series(0, ${size.aiUsages - 1}) n;`;

/** The largest groups, those of 50 members, and all others of 20 take their members in turn. */
const groups = (size: Size) => `
  insert into groups (id, created_at, updated_at, organization_id, name, display_name, quota_allowance, source)
  select ${sqlId("2", "n")}, now(), now(), ${defaultOrganization}, case n when 20 then 'zebulon' else 'group-' || n end,
    'Group ' || n, n % 7, case when n between 21 and 25 then 'oidc' else 'user' end
  from generate_series(0, ${size.groups - sideGroups.count - 1}) n;
  insert into groups (id, created_at, updated_at, organization_id, name)
  select ${sqlId("2", `${sideGroups.first} + n`)}, now(), now(), '${known.sideOrganization}', 'side-' || n
  from generate_series(0, ${sideGroups.count - 1}) n;

  with memberships as (
    select 0 as g, generate_series(${ordinary}, ${ordinary + size.largestGroup - 3}) as n
    union all
    select generate_series(1, 5), n from generate_series(${ordinary}, ${ordinary + size.largeGroup - 1}) n
    union all
    select generate_series(10, 12), n from generate_series(${ordinary}, ${ordinary + 47}) n
    union all
    select unnest(array[0, 10, 11, 12]), ${users.member}
    union all
    select unnest(array[0, 10]), ${users.zebulon}
    union all
    select g, ${ordinary} + (g * 37 + k * 13) % ${size.users - ordinary}
    from generate_series(6, ${size.groups - sideGroups.count - 1}) g, generate_series(0, 19) k where g not in (10, 11, 12)
  )
  insert into group_members (group_id, organization_id, user_id)
  select ${sqlId("2", "g")}, ${defaultOrganization}, ${sqlId("1", "n")} from memberships where ${living};
  insert into group_members (group_id, organization_id, user_id)
  select ${sqlId("2", `${sideGroups.first} + g`)}, '${known.sideOrganization}', ${sqlId("1", `${ordinary} + g + k`)}
  from generate_series(0, ${sideGroups.count - 1}) g, generate_series(0, 4) k;

  insert into group_ai_budgets (group_id, spend_limit_micros, created_at, updated_at)
  select ${sqlId("2", "n")}, 5000000, now(), now()
  from generate_series(0, ${size.groups - sideGroups.count - 1}, 10) n;`;

/**
 * One user with 200 rows, one with the unread rows and a tenth as many read rows, the rest in turn. Ten rows have the
 * rare target.
 */
const inboxes = (size: Size) => `
  insert into inbox_notifications (id, user_id, seq, template_id, targets, title, content, icon, actions, created_at, read_at)
  select ${sqlId("3", "n")},
    ${sqlId(
      "1",
      `case when n % 2 = 0 and n < ${size.unread * 2.2} then ${users.reader}
        when n % 2 = 1 and n < 400 then ${users.member}
        else ${ordinary} + n % ${size.users - ordinary} end`,
    )}, n,
    ${sqlId("a", "n / 2 % 5")}, array[${sqlId("b", `case when n < 40 and n % 4 < 2 then 0 else 1 + n / 2 % 10 end`)}],
    'Backup finished', 'The nightly backup of the build cache took 12 minutes.', '/icons/backup.svg', '[]',
    ${spread(size.inbox, 90)}, case when n / 2 % 11 = 10 then ${spread(size.inbox, 90)} end
  from generate_series(0, ${size.inbox - 1}) n;
  ${countUnread}`;

const countUnread = `
  insert into inbox_cursors (user_id, last_seq, unread_count)
  select user_id, max(seq), count(*) filter (where read_at is null) from inbox_notifications group by user_id
  on conflict (user_id) do update set last_seq = excluded.last_seq, unread_count = excluded.unread_count;`;

/** Every row belongs to the default organization but 50 of `side`; the member acts and connects 100 times. */
const logs = ({ users: userCount, auditEvents, connectionLogs }: Size) => `
  insert into audit_events (id, time, actor_id, actor_kind, action, resource_type, resource_id, resource_label,
    organization_id, diff, request_id, ip)
  select ${sqlId("4", "n")}, ${spread(auditEvents, 90)},
    ${sqlId("1", `case when n % ${auditEvents / 100} = 3 then ${users.member} else ${ordinary} + n % ${userCount - ordinary} end`)},
    'user', case when n % ${auditEvents / 100} = 5 then 'revoke' else ${oneOf(["create", "update", "delete", "login"])} end,
    case when n % ${auditEvents / 100} = 7 then 'license' else ${oneOf(["group", "user", "organization_member", "api_key"])} end,
    ${sqlId("2", `case when n % ${auditEvents / 100} = 11 then 40 else 100 + n % 5000 end`)}, 'something',
    case when n % ${auditEvents / 50} = 9 then '${known.sideOrganization}' when n % 10 > 0 then ${defaultOrganization} end,
    '{"name": {"old": "one", "new": "another"}}', ${sqlId("d", "n")}::text, '192.0.2.1'
  from generate_series(0, ${auditEvents - 1}) n;

  insert into audit_readers (id, user_id, username, filter, position, started_at, seen_at)
  select ${sqlId("f", "n")}, ${sqlId("1", `n % ${userCount}`)}, 'user-' || n, '{}', n, ${spread(connectionLogs, 30)}, now() - n * interval '1 second'
  from generate_series(0, ${Math.min(connectionLogs, 10_000) - 1}) n;

  insert into connection_logs (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
    connect_time, ip, reporter, event_id, connection_id, is_connect_reported, disconnect_time, exit_code, slug_or_port,
    status_code, user_id, user_agent)
  select ${sqlId("7", "n")},
    case when n % ${connectionLogs / 50} = 9 then '${known.sideOrganization}' else ${defaultOrganization} end,
    ${sqlId("5", `case when n % ${connectionLogs / 100} = 3 then 0 else 1 + n % 20000 end`)}, 'box',
    ${sqlId("1", `case when n % ${connectionLogs / 100} = 3 then ${users.member} else ${ordinary} + n % ${userCount - ordinary} end`)},
    'main', type, ${spread(connectionLogs, 30)}, '192.0.2.1', ${sqlId("8", "n % 20000")},
    case when is_web then ${sqlId("8", "n")} end, case when not is_web then ${sqlId("6", "n")} end, true,
    case when not is_web and n % ${connectionLogs / 100} <> 1 then timestamptz '2026-11-02T00:00:00Z' end,
    case when not is_web then 0 end, case when is_web then '8080' end, case when is_web then 200 end,
    case when is_web then ${sqlId("1", `case when n % ${connectionLogs / 100} = 7 then ${users.member} else ${ordinary} + n % ${userCount - ordinary} end`)} end,
    case when is_web then 'Mozilla/5.0 (X11; Linux x86_64; rv:148.0) Gecko/20100101 Firefox/148.0' end
  from (
    select n, n % 10 > 6 as is_web, case when n % ${connectionLogs / 100} = 6 then 'jetbrains' else
      ${oneOf(["ssh", "ssh", "ssh", "ssh", "ssh", "vscode", "reconnecting_pty", "workspace_app", "workspace_app", "port_forwarding"])} end as type
    from generate_series(0, ${connectionLogs - 1}) n
  ) numbered;`;

/** Sessions of all users that send requests, and five keys and twenty secrets of the member beside those of others. */
const credentials = (size: Size) => `
  ${insertSessions(sessionSeries, users.reader + 1, sqlId("1", "n"))};
  insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, expires_at)
  select 'k' || lpad(n::text, 9, '0'), decode(md5(n::text), 'hex'),
    ${sqlId("1", `case when n < 5 then ${users.member} else ${ordinary} + n % ${size.users - ordinary} end`)}, 'token',
    'key-' || n, '{all}', now(), now() + interval '365 days'
  from generate_series(0, ${size.apiKeys - 1}) n;

  insert into user_secrets (id, created_at, updated_at, user_id, name, env_name, value_ciphertext, value_nonce, key_id, value_bytes)
  select ${sqlId("e", "n")}, now(), now(),
    ${sqlId("1", `case when n < 20 then ${users.member} else ${ordinary} + n % ${size.users - ordinary} end`)},
    'secret-' || n, 'SECRET_' || n, decode(repeat(md5(n::text), 3), 'hex'), decode(left(md5(n::text), 24), 'hex'),
    (select id from encryption_keys limit 1), 32
  from generate_series(0, ${size.secrets - 1}) n;`;

/**
 * Which workspaces run: those that cases name, and three in ten of the others. One in fifty, all of which run, has an agent
 * that never connected; other agents stay connected.
 */
const runs = "(n < 200 or n % 10 < 3)";
const transition = `case when ${runs} then 'start' else 'stop' end`;
const isConnected = "n % 50 <> 0";

const workspaces = ({ users: userCount, workspaces: count }: Size) => `
  insert into template_documents (id, organization_id, sha256, content, created_at)
  values (${sqlId("a", "0")}, ${defaultOrganization}, '', '{"schema":"steward.template/1","provisioner":"echo","variables":[],"parameters":[],"presets":[],"resources":[]}', now());
  insert into templates (id, created_at, updated_at, organization_id, name, creator_id, active_version_id, version_count)
  values (${sqlId("a", "1")}, now(), now(), ${defaultOrganization}, 'box', ${sqlId("1", `${users.member}`)}, ${sqlId("a", "2")}, 1);
  insert into template_versions (id, created_at, updated_at, template_id, name, document_id, creator_id, job_id, is_imported)
  values (${sqlId("a", "2")}, now(), now(), ${sqlId("a", "1")}, 'v1', ${sqlId("a", "0")}, ${sqlId("1", `${users.member}`)},
    ${sqlId("a", "3")}, true);
  insert into workspaces (id, created_at, updated_at, organization_id, owner_id, name, template_id, latest_build_id,
    latest_transition, latest_status, loss_noticed_at)
  select ${sqlId("5", "n")}, now(), now(), ${defaultOrganization},
    ${sqlId("1", `case when n < 10 then ${users.member} else ${ordinary} + n % ${userCount - ordinary} end`)}, 'box-' || n,
    ${sqlId("a", "1")}, ${sqlId("b", "n")},
    ${transition}, case when ${runs} then 'running' else 'stopped' end, now()
  from generate_series(0, ${count - 1}) n;
  insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, initiator_id, document_id,
    workspace_build_id, started_at, completed_at)
  select ${sqlId("c", "n")}, now() - n * interval '${(90 * 86_400) / count} seconds', organization_id, 'workspace_build',
    'succeeded', 'echo', '{}', owner_id, ${sqlId("a", "0")}, ${sqlId("b", "n")}, now(), now()
  from generate_series(0, ${count - 1}) n join workspaces w on w.id = ${sqlId("5", "n")};
  insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, transition, reason,
    initiator_id, job_id, parameters)
  select w.latest_build_id, now(), now(), w.id, 1, ${sqlId("a", "2")}, w.latest_transition, 'initiator', w.owner_id,
    ${sqlId("c", "n")}, '{}'
  from generate_series(0, ${count - 1}) n join workspaces w on w.id = ${sqlId("5", "n")};
  insert into workspace_resources (id, created_at, job_id, transition, position, name, metadata)
  select ${sqlId("d", "n")}, now(), ${sqlId("c", "n")}, ${transition}, 0, 'box', '[]'
  from generate_series(0, ${count - 1}) n;
  insert into workspace_agents (id, created_at, updated_at, workspace_id, build_id, resource_id, name, token_hash,
    token_ended_at, lifecycle, first_connected_at, last_connected_at)
  select ${sqlId("8", "n")}, now(), now(), ${sqlId("5", "n")}, ${sqlId("b", "n")}, ${sqlId("d", "n")}, 'main',
    decode(md5(n::text), 'hex'), case when not ${runs} then now() end,
    case when not (${isConnected}) then 'created' when ${runs} then 'ready' else 'off' end,
    case when ${isConnected} then now() end, case when ${isConnected} then now() + interval '1 year' end
  from generate_series(0, ${count - 1}) n;
  insert into workspace_apps (id, created_at, updated_at, agent_id, slug, url)
  select ${sqlId("f", "n")}, now(), now(), ${sqlId("8", "n")}, 'code', 'http://127.0.0.1:8080'
  from generate_series(0, ${count - 1}) n;

  insert into workspace_proxies (id, created_at, updated_at, name, token_hash)
  select ${sqlId("9", "n")}, now(), now(), 'proxy-' || n, decode(md5(n::text), 'hex') from generate_series(0, 4) n;`;
