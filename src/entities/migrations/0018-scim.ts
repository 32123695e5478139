import { Migration } from "@mikro-orm/migrations";

/**
 * Keys of identity providers, and what they know about users and groups. Triggers raise the version of a resource with
 * each change that SCIM clients see, and copy changes of accounts and groups to the links, so that a link is always true.
 */
export class Scim extends Migration {
  override up(): void {
    this.addSql(`
      create table scim_keys (
        id varchar(10) not null,
        name varchar(64) not null,
        source varchar(64) not null,
        organization_ids uuid[] not null,
        token_hash bytea not null,
        created_by uuid,
        created_at timestamptz(3) not null,
        expires_at timestamptz(3),
        last_used_at timestamptz(3),
        last_used_ip varchar(45),
        primary key (id)
      );
      create index scim_keys_created_index on scim_keys (created_at);
      create index scim_keys_expiry_index on scim_keys (expires_at);
      alter table scim_keys add constraint scim_keys_token_unique unique (token_hash);

      create table scim_user_links (
        source varchar(64) not null,
        user_id uuid not null,
        external_id varchar(512),
        user_name varchar(256),
        attributes jsonb not null,
        deprovisioned_at timestamptz(3),
        primary key (source, user_id)
      );
      create index scim_user_links_user_index on scim_user_links (user_id);
      create index scim_user_links_user_name_search_index on scim_user_links
        using gin (lower(user_name collate "C") gin_trgm_ops) with (fastupdate = off);
      create index scim_user_links_attributes_index on scim_user_links
        using gin (lower(attributes::text collate "C") gin_trgm_ops) with (fastupdate = off);
      create index scim_user_links_deprovisioned_index on scim_user_links (source, lower(user_name collate "C"))
        where deprovisioned_at is not null;
      create unique index scim_user_links_external_id_unique on scim_user_links (source, external_id collate "C")
        where external_id is not null;
      create unique index scim_user_links_user_name_unique on scim_user_links (lower(user_name collate "C"))
        where user_name is not null and deprovisioned_at is null;
      create unique index scim_user_links_named_unique on scim_user_links (user_id)
        where user_name is not null and deprovisioned_at is null;
      alter table scim_user_links add constraint scim_user_links_user_id_foreign foreign key (user_id) references users (id) on delete cascade;

      create table scim_group_links (
        source varchar(64) not null,
        group_id uuid not null,
        organization_id uuid not null,
        external_id varchar(512),
        display_name varchar(256),
        primary key (source, group_id)
      );
      create index scim_group_links_group_index on scim_group_links (group_id);
      create index scim_group_links_organization_index on scim_group_links (organization_id);
      create unique index scim_group_links_external_id_unique on scim_group_links (source, external_id collate "C")
        where external_id is not null;
      create unique index scim_group_links_display_name_unique
        on scim_group_links (lower(display_name collate "C"), organization_id) where display_name is not null;
      create unique index scim_group_links_named_unique on scim_group_links (group_id)
        where display_name is not null;
      alter table scim_group_links add constraint scim_group_links_group_id_foreign foreign key (group_id) references groups (id) on delete cascade;
      alter table scim_group_links add constraint scim_group_links_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;

      create index groups_display_index
        on groups (lower(coalesce(nullif(display_name, ''), name) collate "C"), organization_id);

      alter table users add column scim_version int not null default 1;
      alter table groups add column scim_version int not null default 1;
    `);
    this.addSql(`${versions} ${accountAttributes} ${copies}`);
  }
}

const versions = `
  create function raise_scim_version() returns trigger language plpgsql as $$
  begin
    new.scim_version := old.scim_version + 1;
    return new;
  end $$;
  create trigger raise_user_scim_version before update of email, username, name, avatar_url, status on users for each row
    when ((old.email, old.username, old.name, old.avatar_url, old.status)
      is distinct from (new.email, new.username, new.name, new.avatar_url, new.status))
    execute function raise_scim_version();
  create trigger raise_group_scim_version before update of name, display_name, member_count on groups for each row
    when ((old.name, old.display_name, old.member_count)
      is distinct from (new.name, new.display_name, new.member_count))
    execute function raise_scim_version();`;

/** The attributes of an account without a link. A name is split at its last white space. */
const accountAttributes = `
  create function scim_attributes(email text, name text, username text, avatar_url text) returns jsonb
  language sql immutable parallel safe as $$
    select jsonb_build_object(
      'name', jsonb_build_object(
        'formatted', n,
        'givenName', coalesce(substring(n from '^(.*\\S)\\s+\\S+$'), n),
        'familyName', coalesce(substring(n from '\\s(\\S+)$'), n)),
      'displayName', n,
      'emails', jsonb_build_array(jsonb_build_object('value', email, 'type', 'work', 'primary', true)))
      || case when avatar_url ilike 'https://%' then jsonb_build_object('photos',
        jsonb_build_array(jsonb_build_object('value', avatar_url, 'type', 'photo', 'primary', true)))
      else '{}' end
    from (select coalesce(nullif(name, ''), username) as n) named
  $$;`;

const copies = `
  create function copy_account_to_scim() returns trigger language plpgsql as $$
  declare
    account jsonb := scim_attributes(new.email, new.name, new.username, new.avatar_url);
  begin
    update scim_user_links set attributes = case
        when new.avatar_url is distinct from old.avatar_url then attributes - 'photos'
        else attributes end
      || case when new.avatar_url is distinct from old.avatar_url and account ? 'photos'
        then jsonb_build_object('photos', account->'photos') else '{}' end
      || case when new.name is distinct from old.name
        then jsonb_build_object('name', account->'name', 'displayName', account->'displayName') else '{}' end
      || case when new.email is distinct from old.email then jsonb_build_object('emails', (
        select jsonb_agg(case when lower(e->>'value' collate "C") = lower(old.email collate "C")
          then e || jsonb_build_object('value', new.email) else e end order by n)
        from jsonb_array_elements(coalesce(attributes->'emails', account->'emails')) with ordinality as entries (e, n)))
        else '{}' end
    where user_id = new.id;
    return null;
  end $$;
  create trigger copy_account_to_scim after update of email, name, avatar_url on users for each row
    when ((old.email, old.name, old.avatar_url) is distinct from (new.email, new.name, new.avatar_url))
    execute function copy_account_to_scim();

  create function copy_group_to_scim() returns trigger language plpgsql as $$
  begin
    update scim_group_links set display_name = null where group_id = new.id and display_name is not null;
    return null;
  end $$;
  create trigger copy_group_to_scim after update of display_name on groups for each row
    when (old.display_name is distinct from new.display_name)
    execute function copy_group_to_scim();`;
