import { Migration } from "@mikro-orm/migrations";

/** Endpoints of organizations, which receive events, with their secrets and the queue of deliveries. */
export class EventEndpoints extends Migration {
  override up(): void {
    this.addSql(`
      create table event_endpoints (
        id uuid not null primary key,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        organization_id uuid not null,
        name varchar(64) not null,
        url varchar(2048) not null,
        event_types text[] not null default '{}',
        is_thin boolean not null default false,
        state text not null default 'active',
        maker_id uuid not null,
        position bigint not null,
        feed_at timestamptz(3) not null default now(),
        failures int not null default 0,
        failing_since timestamptz(3) null,
        failed_at timestamptz(3) null,
        last_failure varchar(512) not null default '',
        delivered_at timestamptz(3) null
      );
      create unique index event_endpoints_name_unique on event_endpoints (organization_id, lower(name collate "C"));
      create index event_endpoints_list_index on event_endpoints (lower(name collate "C"), id);
      create index event_endpoints_active_index on event_endpoints (position) where state = 'active';
      alter table event_endpoints add constraint event_endpoints_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;
      alter table event_endpoints add constraint event_endpoints_state_check check (state in ('active', 'paused', 'disabled', 'unattended'));

      create table event_endpoint_secrets (
        id uuid not null primary key,
        endpoint_id uuid not null,
        created_at timestamptz(3) not null,
        suffix varchar(4) not null,
        secret_ciphertext bytea not null,
        secret_nonce bytea not null,
        key_id varchar(64) not null
      );
      create index event_endpoint_secrets_endpoint_index on event_endpoint_secrets (endpoint_id, id);
      create index event_endpoint_secrets_key_index on event_endpoint_secrets (key_id, id);
      alter table event_endpoint_secrets add constraint event_endpoint_secrets_endpoint_id_foreign foreign key (endpoint_id) references event_endpoints (id) on delete cascade;
      alter table event_endpoint_secrets add constraint event_endpoint_secrets_key_id_foreign foreign key (key_id) references encryption_keys (id);

      create table event_deliveries (
        id uuid not null primary key,
        endpoint_id uuid not null,
        event_id uuid not null,
        number bigint null,
        type varchar(64) not null,
        created_at timestamptz(3) not null,
        state text not null default 'pending',
        attempts int not null default 0,
        failures int not null default 0,
        next_attempt_at timestamptz(3) not null,
        expires_at timestamptz(3) not null,
        lease_token uuid null,
        finished_at timestamptz(3) null,
        log jsonb not null default '[]'
      );
      alter table event_deliveries add constraint event_deliveries_event_unique unique (endpoint_id, event_id);
      create index event_deliveries_list_index on event_deliveries (endpoint_id, created_at, id);
      create index event_deliveries_due_index on event_deliveries (endpoint_id, next_attempt_at, id) where state in ('pending', 'leased');
      create index event_deliveries_leased_index on event_deliveries (endpoint_id) where state = 'leased';
      create index event_deliveries_failed_index on event_deliveries (endpoint_id, created_at, id) where state = 'failed';
      create index event_deliveries_finished_index on event_deliveries (finished_at) where finished_at is not null;
      alter table event_deliveries add constraint event_deliveries_endpoint_id_foreign foreign key (endpoint_id) references event_endpoints (id) on delete cascade;
      alter table event_deliveries add constraint event_deliveries_state_check check (state in ('pending', 'leased', 'delivered', 'failed'));
    `);
  }
}
