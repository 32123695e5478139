import { Migration } from "@mikro-orm/migrations";

/**
 * Subjects of identities are from a claim that operators choose; those before are from `sub`. Logs keep the names of those
 * whom they are about, as they were then: triggers set them in new rows. The indexes find the rows of before, whose names the
 * next migration fills in.
 */
export class KeptNames extends Migration {
  override up(): void {
    this.addSql(`
      alter table user_links add column claim varchar(128) not null default 'sub';

      alter table audit_log add column actor_username varchar(32) null, add column actor_email varchar(254) null;
      create function keep_actor_names() returns trigger language plpgsql as $$
      begin
        select username, email into new.actor_username, new.actor_email from users where id = new.actor_id;
        new.actor_username := coalesce(new.actor_username, '');
        return new;
      end $$;
      create trigger keep_actor_names before insert on audit_log for each row
        when (new.actor_kind = 'user' and new.actor_username is null) execute function keep_actor_names();
      create index audit_log_unnamed_index on audit_log (id) where actor_kind = 'user' and actor_username is null;

      alter table connection_log
        add column workspace_owner_username varchar(32) null, add column workspace_owner_email varchar(254) null,
        add column username varchar(32) null, add column user_email varchar(254) null;
      create function keep_connected_names() returns trigger language plpgsql as $$
      begin
        select username, email into new.workspace_owner_username, new.workspace_owner_email
        from users where id = new.workspace_owner_id;
        new.workspace_owner_username := coalesce(new.workspace_owner_username, '');
        if new.user_id is not null then
          select username, email into new.username, new.user_email from users where id = new.user_id;
        end if;
        return new;
      end $$;
      create trigger keep_connected_names before insert on connection_log for each row
        when (new.workspace_owner_username is null) execute function keep_connected_names();
      create index connection_log_unnamed_index on connection_log (id) where workspace_owner_username is null;

      alter table notification_messages add column username varchar(32) null, add column user_email varchar(254) null;
      create function keep_recipient_names() returns trigger language plpgsql as $$
      begin
        select username, email into new.username, new.user_email from users where id = new.user_id;
        return new;
      end $$;
      create trigger keep_recipient_names before insert on notification_messages for each row
        when (new.username is null) execute function keep_recipient_names();
      create index notification_messages_unnamed_index on notification_messages (id) where username is null;

      alter table provisioner_jobs
        add column initiator_username varchar(32) null, add column initiator_email varchar(254) null;
      create function keep_initiator_names() returns trigger language plpgsql as $$
      begin
        select username, email into new.initiator_username, new.initiator_email from users where id = new.initiator_id;
        return new;
      end $$;
      create trigger keep_initiator_names before insert on provisioner_jobs for each row
        when (new.initiator_username is null) execute function keep_initiator_names();
      create index provisioner_jobs_unnamed_index on provisioner_jobs (id) where initiator_username is null;
    `);
  }
}
