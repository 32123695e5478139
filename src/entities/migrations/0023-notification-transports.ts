import { Migration } from "@mikro-orm/migrations";

/** How owners configured the delivery of notifications, in place of environment variables. */
export class NotificationTransports extends Migration {
  override up(): void {
    this.addSql(`
      create table notification_transports (
        id uuid not null,
        method text not null,
        settings jsonb not null,
        secret_ciphertext bytea,
        secret_nonce bytea,
        key_id varchar(64),
        primary key (id)
      );

      alter table notification_transports add constraint notification_transports_method_unique unique (method);
      alter table notification_transports add constraint notification_transports_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
      alter table notification_transports add constraint notification_transports_method_check check (method in ('smtp', 'webhook'));

      insert into notification_transports (id, method, settings)
      values (gen_random_uuid(), 'smtp', '{}'), (gen_random_uuid(), 'webhook', '{}');
    `);
  }
}
