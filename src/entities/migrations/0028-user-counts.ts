import { Migration } from "@mikro-orm/migrations";

/**
 * Keeps the number of users that lists show, as the sum of the changes: creations do not wait for each other, as they would
 * for one counter. A job of the server replaces the changes with their sum.
 */
export class UserCounts extends Migration {
  override up(): void {
    this.addSql(`
      create table user_counts (id uuid primary key default gen_random_uuid(), change int not null);
      insert into user_counts (change) select count(*) from users where deleted_at is null and not is_system;

      create function count_created_users() returns trigger language plpgsql as $$
      begin
        insert into user_counts (change)
        select count(*) from created where deleted_at is null and not is_system having count(*) > 0;
        return null;
      end $$;
      create trigger count_created_users after insert on users
        referencing new table as created for each statement execute function count_created_users();

      create function count_deleted_user() returns trigger language plpgsql as $$
      begin
        insert into user_counts (change) values (case when new.deleted_at is null then 1 else -1 end);
        return null;
      end $$;
      create trigger count_deleted_user after update of deleted_at on users for each row
        when (not new.is_system and (old.deleted_at is null) <> (new.deleted_at is null))
        execute function count_deleted_user();
    `);
  }
}
