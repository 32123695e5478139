import { Migration } from "@mikro-orm/migrations";

/** Invitations, and passwords that their users must change. */
export class Invitations extends Migration {
  override up(): void {
    this.addSql(`
      alter table users add column must_change_password boolean not null default false;

      create table invitations (
        id uuid not null primary key,
        created_at timestamptz(3) not null,
        updated_at timestamptz(3) not null,
        email varchar(254) not null,
        name varchar(128) not null default '',
        site_roles text[] not null default '{}',
        memberships jsonb not null,
        group_ids uuid[] not null default '{}',
        login_type text,
        inviter_id uuid not null,
        inviter_epoch int not null,
        token_hash bytea not null,
        expires_at timestamptz(3) not null,
        sent_at timestamptz(3) not null,
        send_count int not null default 1,
        mail_state text,
        mail_fault varchar(512),
        attempts int not null default 0,
        next_attempt_at timestamptz(3),
        lease_token uuid,
        key_id varchar(64),
        token_nonce bytea,
        token_ciphertext bytea,
        end_reason text,
        ended_at timestamptz(3),
        user_id uuid
      );
      create unique index invitations_open_unique on invitations (lower(email collate "C")) where end_reason is null;
      alter table invitations add constraint invitations_token_unique unique (token_hash);
      create index invitations_list_index on invitations (lower(email collate "C"), id);
      create index invitations_created_index on invitations (created_at, id);
      create index invitations_expiry_index on invitations (expires_at);
      create index invitations_inviter_index on invitations (inviter_id) where end_reason is null;
      create index invitations_due_index on invitations (next_attempt_at, id) where mail_state in ('pending', 'leased');
      create index invitations_key_index on invitations (key_id, id) where key_id is not null;
      alter table invitations add constraint invitations_inviter_id_foreign foreign key (inviter_id) references users (id) on delete cascade;
      alter table invitations add constraint invitations_key_id_foreign foreign key (key_id) references encryption_keys (id) on delete set null;
      alter table invitations add constraint invitations_login_type_check check (login_type in ('password', 'oidc', 'github'));
      alter table invitations add constraint invitations_mail_state_check check (mail_state in ('pending', 'leased', 'sent', 'failed'));
      alter table invitations add constraint invitations_end_reason_check check (end_reason in ('accepted', 'revoked', 'replaced'));
    `);
  }
}
