import { Migration } from "@mikro-orm/migrations";

/**
 * Each suspension begins another epoch of the credentials of a user. A key has the epoch in which it was issued, and is valid
 * in it alone: one that is issued while its user is suspended does not become valid with the activation, without a lock on
 * the user. Keys of users who are suspended have the epoch -1. Keys of servers of the previous release, which lock the user,
 * get their epoch from a trigger.
 */
export class CredentialEpochs extends Migration {
  override up(): void {
    this.addSql(`
      alter table users add column credential_epoch int not null default 0;
      alter table api_keys add column epoch int not null default 0;
      alter table api_keys alter column epoch drop default;
      create function find_credential_epoch() returns trigger language plpgsql as $$
      begin
        select case when status = 'active' then credential_epoch else -1 end into new.epoch from users where id = new.user_id;
        new.epoch := coalesce(new.epoch, -1);
        return new;
      end $$;
      create trigger find_credential_epoch before insert on api_keys for each row
        when (new.epoch is null) execute function find_credential_epoch();
      create or replace function note_suspension() returns trigger language plpgsql as $$
      begin
        new.suspended_at := case when new.status = 'suspended' then now() end;
        new.stop_hold := null;
        if new.status = 'suspended' then
          new.credential_epoch := old.credential_epoch + 1;
        end if;
        return new;
      end $$;
    `);
  }
}
