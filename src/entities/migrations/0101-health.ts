import { Migration } from "@mikro-orm/migrations";

/**
 * Results of the checks of the deployment's health, the servers that run, and when things were seen last: a backup, a message
 * that arrived by mail or webhook.
 */
export class Health extends Migration {
  override up(): void {
    this.addSql(`
      create table health_checks (
        code varchar(32) not null primary key,
        state text not null constraint health_checks_state_check check (state in ('ok', 'warning', 'error')),
        since timestamptz(3) not null,
        finding varchar(500) not null,
        checked_at timestamptz(3) not null,
        told_state text not null default 'ok'
          constraint health_checks_told_state_check check (told_state in ('ok', 'warning', 'error')),
        muted_until timestamptz(3) null,
        muted_by_id uuid null constraint health_checks_muted_by_id_foreign references users (id) on delete set null
      );
      create table server_replicas (
        id uuid not null primary key,
        hostname varchar(255) not null,
        version varchar(64) not null,
        started_at timestamptz(3) not null,
        seen_at timestamptz(3) not null,
        readings jsonb not null
      );
      create index server_replicas_seen_index on server_replicas (seen_at);
      alter table deployment
        add column health_checked_at timestamptz(3) null,
        add column backed_up_at timestamptz(3) null;
      alter table notification_transports
        add column delivered_at timestamptz(3) null,
        add column failing_since timestamptz(3) null,
        add column last_failure varchar(512) not null default '';
    `);
  }
}
