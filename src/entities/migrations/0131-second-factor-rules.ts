import { Migration } from "@mikro-orm/migrations";

/** The rules of second factors, and since when users hold their roles in the deployment, with which a rule begins for them. */
export class SecondFactorRules extends Migration {
  override up(): void {
    this.addSql(`
      create table second_factor_rules (
        id uuid not null primary key,
        organization_id uuid null,
        site_role varchar(32) null,
        level text not null,
        days_to_enrol int not null,
        since timestamptz(3) not null
      );
      alter table second_factor_rules add constraint second_factor_rules_level_check check (level in ('optional', 'required'));
      alter table second_factor_rules add constraint second_factor_rules_subject_check check (num_nonnulls(organization_id, site_role) = 1);
      alter table second_factor_rules add constraint second_factor_rules_organization_unique unique (organization_id);
      alter table second_factor_rules add constraint second_factor_rules_site_role_unique unique (site_role);
      alter table second_factor_rules add constraint second_factor_rules_organization_id_foreign foreign key (organization_id) references organizations (id) on delete cascade;

      alter table users add column site_role_times jsonb not null default '{}';
      create function note_site_role_times() returns trigger language plpgsql as $$
      begin
        new.site_role_times := (
          select coalesce(jsonb_object_agg(role, coalesce(old.site_role_times -> role, to_jsonb(now()))), '{}')
          from unnest(new.site_roles) role
          where tg_op = 'INSERT' or role <> all (old.site_roles) or old.site_role_times ? role);
        return new;
      end $$;
      create trigger note_site_role_times before update of site_roles on users for each row
        when (new.site_roles is distinct from old.site_roles) execute function note_site_role_times();
      create trigger note_first_site_role_times before insert on users for each row
        when (new.site_roles <> '{}') execute function note_site_role_times();
    `);
  }
}
