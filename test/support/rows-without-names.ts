// Rows of the logs as releases stored them that kept no names with them.
// Looks inside: no server of this release makes such rows.
import { Client as Postgres } from "pg";
import type { App } from "./app.js";
import { newId } from "./ids.js";

interface Ids {
  organization: string;
  /** A user who was deleted, and one who took the name later. */
  gone: string;
  ada: string;
}

/** Stores rows of each log about the user who is gone, in a database of an earlier release. */
export async function storeRowsWithoutNames(url: string, { organization, gone, ada }: Ids): Promise<void> {
  const sql = new Postgres({ connectionString: url });
  await sql.connect();
  const later = "first_id_of(now() + interval '2 months')";
  // Nothing else than what the logs refer to: documents and templates of jobs are left out.
  await sql.query(`
    set session_replication_role = replica;
    insert into organizations (id, created_at, updated_at, name, display_name, description, icon, is_default)
    values ('${organization}', now(), now(), 'earlier', '', '', '', false);
    insert into users (id, created_at, updated_at, email, username, login_type, deleted_at)
    values ('${gone}', now(), now(), 'ada@example.com', 'ada', 'none', now()),
      ('${ada}', now(), now(), 'ada@example.com', 'ada', 'none', null);
    insert into audit_log (id, time, actor_id, actor_kind, action, resource_type, diff, request_id)
    select case when n = 1 then ${later} else overlay(gen_random_uuid()::text placing '01900000-0000-7' from 1 for 15)::uuid end,
      now() - make_interval(secs => n), '${gone}', 'user', 'update', 'group', '{}', 'request' from generate_series(1, 2500) n;
    insert into audit_log (id, time, actor_id, actor_kind, action, resource_type, diff, request_id)
    values ('${newId()}', now(), '${newId()}', 'agent', 'update', 'group', '{}', 'request'),
      ('${newId()}', now(), '${newId()}', 'user', 'update', 'group', '{}', 'of a user who is unknown');
    insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
      connect_time, reporter, user_id, slug_or_port)
    select case when n = 1 then ${later} else overlay(gen_random_uuid()::text placing '01900000-0000-7' from 1 for 15)::uuid end,
      '${organization}', '${newId()}', 'box', '${gone}', 'main', 'workspace_app', now() - make_interval(secs => n),
      '${newId()}', '${gone}', 'chat' from generate_series(1, 2500) n;
    insert into notification_messages (id, event_id, template_id, user_id, method, state, attempts_left, next_attempt_at,
      expires_at, created_at, finished_at)
    values ('${newId()}', '${newId()}', '${newId()}', '${gone}', 'inbox', 'sent', 0, now(), now(), now(), now());
    insert into provisioner_jobs (id, created_at, organization_id, type, status, provisioner, tags, initiator_id, document_id,
      completed_at)
    values ('${newId()}', now(), '${organization}', 'template_version_import', 'succeeded', 'echo', '{}', '${gone}',
      '${newId()}', now());`);
  await sql.end();
}

/** Adds an owner: a database with users gets no administrator. The job belongs to the organization that the start made. */
export async function addOwner({ services }: App, password: string): Promise<void> {
  const { pool } = services.database;
  await pool.query(
    `insert into users (id, created_at, updated_at, email, username, login_type, password_hash, site_roles)
     values ($1, now(), now(), 'owner@example.com', 'owner', 'password', $2, '{owner}')`,
    [newId(), await services.passwords.hash(password)],
  );
  await pool.query("update provisioner_jobs set organization_id = (select id from organizations where is_default)");
}

/** Counts the rows that have names, those that lack them, and the indexes of the migration that are left. */
export async function countNames({ services }: App): Promise<Record<string, number>> {
  const { rows } = await services.database.pool.query(`
    select
      (select count(*)::int from audit_log where actor_username = 'ada') as events,
      (select count(*)::int from audit_log where actor_kind = 'user' and actor_username is null) as "without",
      (select count(*)::int from audit_log where actor_kind <> 'user' and actor_username is not null) as machines,
      (select count(*)::int from connection_log where workspace_owner_username = 'ada' and user_email = 'ada@example.com')
        as connections,
      (select count(*)::int from pg_indexes where indexname like '%unnamed%') as indexes`);
  return rows[0];
}
