import { Migration } from "@mikro-orm/migrations";

/** Browsers in which sign-in takes no second factor for a while. */
export class RememberedDevices extends Migration {
  override up(): void {
    this.addSql(`
      create table remembered_devices (
        id uuid not null primary key,
        user_id uuid not null,
        secret_hash bytea not null,
        user_agent varchar(512) null,
        created_at timestamptz(3) not null,
        last_used_at timestamptz(3) null
      );
      create index remembered_devices_user_index on remembered_devices (user_id);
      create index remembered_devices_created_index on remembered_devices (created_at);
      alter table remembered_devices add constraint remembered_devices_secret_hash_unique unique (secret_hash);
      alter table remembered_devices add constraint remembered_devices_user_id_foreign foreign key (user_id) references users (id) on delete cascade;
    `);
  }
}
