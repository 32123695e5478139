import { BackfillMigration } from "./backfill.js";

/** Matches the characters that terminals and pages obey instead of showing them, as 0093 has them. */
const obeyed = String.raw`[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]`;

const cleaned = (text: string) =>
  `trim(regexp_replace(regexp_replace(${text}, '${String.raw`[\u202a-\u202e\u2066-\u2069]`}', '', 'g'), '${obeyed}', ' ', 'g'))`;

/** One line of text, which machines reported or which was copied from labels. Tables, with their key. */
const lines: ReadonlyArray<readonly [table: string, key: string, columns: readonly string[]]> = [
  ["workspace_resources", "id", ["type"]],
  ["workspace_apps", "id", ["group_name"]],
  ["workspace_app_statuses", "id", ["message"]],
  ["workspace_agents", "id", ["version"]],
  ["provisioner_daemons", "id", ["version"]],
  ["provisioner_job_logs", "id", ["stage"]],
  ["workspace_proxies", "id", ["version"]],
  ["workspace_proxy_replicas", "proxy_id, id", ["hostname", "version"]],
  ["task_conversations", "task_id", ["state_message"]],
  ["task_messages", "id", ["last_error"]],
  ["ended_keys", "id", ["name"]],
  ["api_keys", "id", ["user_agent"]],
  ["connection_log", "id", ["disconnect_reason", "user_agent"]],
  ["audit_log", "id", ["resource_label", "user_agent"]],
];

/** Cleans what 0093 left, and drops the indexes of the connection log that 0095 and others replace. */
export class CleanReports extends BackfillMigration {
  override up(): void {
    this.addSql(`
      drop index connection_log_organization_type_index,
        connection_log_organization_ongoing_index,
        connection_log_owner_email_index,
        connection_log_user_email_index;
    `);
    for (const [table, key, columns] of lines)
      this.addBackfill(`
        update ${table} set ${columns.map((column) => `${column} = ${cleaned(column)}`).join(", ")}
        where (${key}) in (
          select ${key} from ${table} where ${columns.map((column) => `${column} ~ '${obeyed}'`).join(" or ")} limit 1000)`);
    // Names are unique in a job. One at a time: each is compared with those before it.
    this.addBackfill(`
      update workspace_resources r set name = free.name
      from (
        select id, job_id, coalesce(nullif(${cleaned("name")}, ''), 'unnamed') as base from workspace_resources
        where name ~ '${obeyed}' order by id limit 1
      ) one, lateral (
        select candidate as name from (
          select case when n = 1 then one.base else left(one.base, 60) || '-' || n end as candidate, n
          from generate_series(1, 1000) n
        ) candidates
        where not exists (
          select from workspace_resources other where other.job_id = one.job_id and other.name = candidate
        ) order by n limit 1
      ) free
      where r.id = one.id`);
    // In the text of JSON, some of these characters are written as escapes.
    this.addBackfill(`
      update workspace_resources r set metadata = (
        select jsonb_agg(jsonb_set(entry, '{key}', to_jsonb(coalesce(nullif(${cleaned("entry->>'key'")}, ''), 'unnamed'))) order by at)
        from jsonb_array_elements(r.metadata) with ordinality as entries (entry, at))
      where id in (
        select id from workspace_resources where exists (
          select from jsonb_array_elements(metadata) entry where entry->>'key' ~ '${obeyed}'
        ) limit 1000)`);
  }
}
