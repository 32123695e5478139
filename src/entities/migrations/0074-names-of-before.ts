import { BackfillMigration } from "./backfill.js";

/** Fills in the names of rows of before, as they are today, and lists logs by names from indexes. */
export class NamesOfBefore extends BackfillMigration {
  override up(): void {
    this.addSql(`
      create index audit_log_actor_username_index on audit_log (lower(actor_username collate "C"), time, id) where actor_username is not null;
      create index audit_log_actor_email_index on audit_log (lower(actor_email collate "C"), time, id) where actor_email is not null;
      create index connection_log_owner_username_index on connection_log (lower(workspace_owner_username collate "C"), connect_time, id);
      create index connection_log_owner_email_index on connection_log (lower(workspace_owner_email collate "C"), connect_time, id);
      create index connection_log_username_index on connection_log (lower(username collate "C"), connect_time, id) where username is not null;
      create index connection_log_user_email_index on connection_log (lower(user_email collate "C"), connect_time, id) where user_email is not null;
      create index notification_messages_username_index on notification_messages (lower(username collate "C"), created_at, id);
      create index notification_messages_user_email_index on notification_messages (lower(user_email collate "C"), created_at, id);
      create index provisioner_jobs_initiator_username_index on provisioner_jobs (organization_id, lower(initiator_username collate "C"), created_at, id);
      create index provisioner_jobs_initiator_email_index on provisioner_jobs (organization_id, lower(initiator_email collate "C"), created_at, id);
    `);
    this.addBackfill(`
      update audit_log e set actor_username = coalesce(u.username, ''), actor_email = u.email
      from (
        select id, actor_id from audit_log where actor_kind = 'user' and actor_username is null order by id limit 1000
      ) before left join users u on u.id = before.actor_id
      where e.id = before.id`);
    this.addBackfill(`
      update connection_log l set
        workspace_owner_username = coalesce(o.username, ''), workspace_owner_email = o.email,
        username = u.username, user_email = u.email
      from (
        select id, workspace_owner_id, user_id from connection_log
        where workspace_owner_username is null order by id limit 1000
      ) before left join users o on o.id = before.workspace_owner_id left join users u on u.id = before.user_id
      where l.id = before.id`);
    this.addBackfill(`
      update notification_messages m set username = u.username, user_email = u.email from users u
      where u.id = m.user_id
        and m.id in (select id from notification_messages where username is null order by id limit 1000)`);
    this.addBackfill(`
      update provisioner_jobs j set initiator_username = u.username, initiator_email = u.email from users u
      where u.id = j.initiator_id
        and j.id in (select id from provisioner_jobs where initiator_username is null order by id limit 1000)`);
  }
}
