// Rows as an earlier release has them, and what they are after the upgrade.
// Looks inside: no server of this release makes such rows.
import { Client as Postgres } from "pg";
import type { App } from "./app.js";
import { newId, randomText } from "./ids.js";
import { hashSecret, newToken } from "./token-rows.js";

/** The reasons of builds that the earlier release knew. */
export const reasons = [
  "initiator",
  "autostart",
  "autostop",
  "dormancy",
  "autodelete",
  "task_manual_pause",
  "task_auto_pause",
  "task_resume",
  "dashboard",
  "cli",
  "ssh_connection",
  "vscode_connection",
  "jetbrains_connection",
];

/** Ids and secrets of rows that `storeRowsOfBefore` stores. */
export function rowsOfBefore() {
  const [organization, ada, sam, box, running, agent] = Array.from({ length: 6 }, () => newId());
  const session = newToken("session");
  const token = newToken("token");
  const application = newToken("application");
  const daemonSecret = randomText(43);
  const [stopped, lost, open] = Array.from({ length: 3 }, () => newId());
  return {
    organization,
    ada,
    sam,
    box,
    running,
    agent,
    session,
    token,
    application,
    daemonSecret,
    stopped,
    lost,
    open,
  } as Rows;
}

type Token = ReturnType<typeof newToken>;
type Rows = Record<
  "organization" | "ada" | "sam" | "box" | "running" | "agent" | "daemonSecret" | "stopped" | "lost" | "open",
  string
> &
  Record<"session" | "token" | "application", Token>;

/** Stores users, keys, builds, sessions, and AI spending, whose migrations come after 0069. */
export async function storeRowsOfBefore(url: string, given: Rows): Promise<void> {
  const {
    organization,
    ada,
    sam,
    box,
    running,
    agent,
    session,
    token,
    application,
    daemonSecret,
    stopped,
    lost,
    open,
  } = given;
  const sql = new Postgres({ connectionString: url });
  await sql.connect();
  // Nothing else than what is looked at: the jobs, versions, and templates of the builds are left out.
  await sql.query("set session_replication_role = replica");
  await sql.query(
    `insert into organizations (id, created_at, updated_at, name, display_name, description, icon, is_default)
     values ($1, now(), now(), 'earlier', '', '', '', false)`,
    [organization],
  );
  await sql.query(
    `insert into users (id, created_at, updated_at, email, username, login_type, status) values
     ($1, now() - interval '1 year', now() - interval '1 year', 'ada@example.com', 'ada', 'password', 'active'),
     ($2, now() - interval '1 year', now() - interval '3 hours', 'sam@example.com', 'sam', 'password', 'suspended')`,
    [ada, sam],
  );
  for (const [key, kind, name] of [
    [session, "session", ""],
    [token, "token", "made by the session"],
    [application, "token", "made by the token"],
  ] as const)
    await sql.query(
      `insert into api_keys (id, secret_hash, user_id, kind, name, scopes, created_at, expires_at)
       values ($1, $2, $3, $4, $5, '{all}', now(), now() + interval '1 day')`,
      [key.id, key.secretHash, ada, kind, name],
    );
  for (const [made, maker] of [
    [token, session],
    [application, token],
  ] as const)
    await sql.query(
      `insert into audit_log (id, time, actor_id, actor_kind, api_key_id, action, resource_type, resource_id, diff, request_id)
       values ($1, now(), $2, 'user', $3, 'create', 'api_key', $4, '{}', 'request')`,
      [newId(), ada, maker.id, made.id],
    );
  for (const [index, reason] of reasons.entries())
    await sql.query(
      `insert into workspace_builds (id, created_at, updated_at, workspace_id, build_number, version_id, transition, reason,
         initiator_id, job_id, parameters)
       values ($1, now(), now(), $2, $3, $4, 'start', $5, $6, $7, '[]')`,
      [newId(), box, index + 1, newId(), reason, ada, newId()],
    );
  await sql.query(
    `insert into provisioner_keys (id, organization_id, name, secret_hash, tags, creator_id, created_at)
     values ($1, $2, 'Build-Farm.EU', $3, '{}', $4, now()), ($5, $2, 'plain', $6, '{}', $4, now())`,
    [newId(), organization, hashSecret(daemonSecret), ada, newId(), hashSecret(randomText(43))],
  );
  // A session of an agent whose token has ended, one of a workspace that is gone, and one of an agent that is there.
  await sql.query(
    `insert into workspace_agents (id, created_at, updated_at, workspace_id, build_id, resource_id, name, token_hash, token_ended_at)
     select $1, now(), now(), workspace_id, id, $2, 'main', '\\x00', now() - interval '1 hour' from workspace_builds limit 1`,
    [agent, newId()],
  );
  for (const [id, reporter] of [
    [stopped, agent],
    [lost, newId()],
    [open, newId()],
  ])
    await sql.query(
      `insert into connection_log (id, organization_id, workspace_id, workspace_name, workspace_owner_id, agent_name, type,
         connect_time, reporter, connection_id)
       values ($1, $2, $3, 'box', $4, 'main', 'ssh', now() - interval '2 hours', $5, $6)`,
      [id, organization, running, ada, reporter, newId()],
    );
  for (const [amount, time] of [
    [5, "now()"],
    [7, "now()"],
    [100, "now() - interval '40 days'"],
  ] as const)
    await sql.query(
      `insert into ai_usage (id, user_id, organization_id, amount_micros, at) values ($1, $2, $3, $4, ${time})`,
      [newId(), ada, organization, amount],
    );
  await sql.end();
}

const query = async ({ services }: App, text: string, values: unknown[] = []) =>
  (await services.database.pool.query<Record<string, unknown>>(text, values)).rows;

/** Reads what no interface shows. */
export const found = {
  suspensions: (app: App, users: readonly string[]) =>
    query(app, "select id, suspended_at = updated_at as is_since, stop_hold from users where id = any($1)", [users]),
  isSuspendedSinceNow: async (app: App, user: string) =>
    (
      await query(app, "select suspended_at > now() - interval '1 minute' as is_new from users where id = $1", [user])
    )[0]!.is_new,
  reasonsOfBuilds: async (app: App, workspace: string) =>
    (
      await query(app, "select reason from workspace_builds where workspace_id = $1 order by build_number", [workspace])
    ).map(({ reason }) => reason),
  isValidated: async (app: App, constraint: string) =>
    (await query(app, "select convalidated from pg_constraint where conname = $1", [constraint]))[0]!.convalidated,
  plannedDeadlines: async (app: App) =>
    (await query(app, "select count(planned_deadline)::int as count from workspace_builds"))[0]!.count,
  ends: (app: App, connections: readonly string[]) =>
    query(
      app,
      "select id, disconnect_time is not null as has_ended, is_end_derived from connection_log where id = any($1)",
      [connections],
    ),
};
