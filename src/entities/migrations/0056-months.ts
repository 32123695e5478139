import { Migration } from "@mikro-orm/migrations";

/** The partitioned tables, by the table that becomes the first partition of each. */
const parents = { audit_events: "audit_log", connection_logs: "connection_log", inbox_notifications: "inbox" };

/**
 * Partitions the audit log, the connection log, and inboxes by month. The tables that exist keep their names and rows as
 * the first partitions, whose bound is more than a month away: servers of earlier releases go on with them, and no row is
 * copied. The ranges are those of ids, which begin with their time, so that the id alone stays the primary key. Rows
 * for which no month exists go to a default partition. What must be unique beside the id is so within each partition.
 */
export class Months extends Migration {
  override up(): void {
    for (const table of Object.keys(parents)) this.addSql(`lock table ${table} in access exclusive mode`);
    for (const [table, parent] of Object.entries(parents))
      this.addSql(`
        create table ${parent} (like ${table} including defaults) partition by range (id);
        alter table ${parent} add primary key (id);
      `);
    this.addSql(indexes);
    this.addSql(`
      alter table connection_logs rename constraint connection_logs_type_check to connection_log_type_check;
      alter table connection_log add constraint connection_log_type_check check (type in ('ssh', 'vscode', 'jetbrains', 'reconnecting_pty', 'workspace_app', 'port_forwarding'));
      alter table inbox_notifications rename constraint inbox_notifications_user_id_foreign to inbox_user_id_foreign;
      alter table inbox add constraint inbox_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
    `);
    for (const [table, parent] of Object.entries(parents)) {
      this.addSql(`
        do $$ begin
          execute format('alter table ${parent} attach partition ${table} for values from (minvalue) to (%L)', (
            select substring(pg_get_constraintdef(oid) from '''([0-9a-f-]{36})''') from pg_constraint
            where conrelid = '${table}'::regclass and conname = '${table}_months'));
        end $$;
        alter table ${table} drop constraint ${table}_months;
        create table ${parent}_default partition of ${parent} default;
      `);
    }
    this.addSql(`
      create unique index on connection_log_default (connection_id, workspace_id, agent_name) where connection_id is not null;
      create unique index on connection_log_default (reporter, event_id) where event_id is not null;
      create unique index on inbox_default (user_id, seq);
      alter table inbox_default alter column epoch set (n_distinct = -0.1);
    `);
    this.addSql(createMonth);
    this.addSql(`
      select create_month(parent, (date_trunc('month', now() at time zone 'UTC') + make_interval(months => n))::date)
      from unnest('{audit_log, connection_log, inbox}'::text[]) as parents (parent), generate_series(2, 3) n`);
  }
}

/** In the order of the tables' own, which become parts of these. */
const indexes = `
  create index audit_log_time_index on audit_log (time, id);
  create index audit_log_organization_index on audit_log (organization_id, time, id);
  create index audit_log_resource_index on audit_log (resource_id, time, id);
  create index audit_log_resource_type_index on audit_log (resource_type, time, id);
  create index audit_log_organization_type_index on audit_log (organization_id, resource_type, time, id);
  create index audit_log_organization_action_index on audit_log (organization_id, action, time, id);
  create index audit_log_actor_index on audit_log (actor_id, time, id);
  create index audit_log_action_index on audit_log (action, time, id);
  create index audit_log_scim_key_index on audit_log (api_key_id, time, id) where actor_kind = 'scim_key';

  create index connection_log_time_index on connection_log (connect_time, id);
  create index connection_log_organization_index on connection_log (organization_id, connect_time, id);
  create index connection_log_type_index on connection_log (type, connect_time, id);
  create index connection_log_organization_type_index on connection_log (organization_id, type, connect_time, id);
  create index connection_log_workspace_index on connection_log (workspace_id, connect_time, id);
  create index connection_log_owner_index on connection_log (workspace_owner_id, connect_time, id);
  create index connection_log_user_index on connection_log (user_id, connect_time, id) where user_id is not null;
  create index connection_log_ongoing_index on connection_log (connect_time, id) where disconnect_time is null and connection_id is not null;
  create index connection_log_organization_ongoing_index on connection_log (organization_id, connect_time, id) where disconnect_time is null and connection_id is not null;

  create index inbox_page_index on inbox (user_id, created_at desc, id desc);
  create index inbox_unread_index on inbox (user_id, epoch, created_at desc, id desc) where read_at is null;
  create index inbox_targets_index on inbox using gin ((targets || user_id)) with (fastupdate = off);
`;

/**
 * Makes the partition of a month, unless there is one, like the default partition. Attaching it locks that one, and not the
 * parent against reads and writes.
 */
const createMonth = `
  create function create_month(parent text, month date) returns boolean language plpgsql as $$
  declare
    name text := parent || to_char(month, '_YYYY_MM');
    options record;
  begin
    if to_regclass(name) is not null then return false; end if;
    execute format('create table %I (like %I including all)', name, parent || '_default');
    for options in
      select attname, array_to_string(attoptions, ', ') as list from pg_attribute
      where attrelid = (parent || '_default')::regclass and attoptions is not null and not attisdropped
    loop
      execute format('alter table %I alter column %I set (%s)', name, options.attname, options.list);
    end loop;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
      first_id_of(month::timestamp at time zone 'UTC'), first_id_of((month + interval '1 month') at time zone 'UTC'));
    return true;
  end $$;
`;
