import { BackfillMigration } from "./backfill.js";

/** Matches the characters that terminals and pages obey instead of showing them. */
const obeyed = String.raw`[\u0001-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]`;

/** A label without them, as the server cleans labels of other systems. */
const cleaned = (column: string) =>
  `trim(regexp_replace(regexp_replace(${column}, '${String.raw`[\u202a-\u202e\u2066-\u2069]`}', '', 'g'), '${obeyed}', ' ', 'g'))`;

/** The labels that need not be unique. */
const labels: ReadonlyArray<readonly [table: string, column: string]> = [
  ["users", "name"],
  ["organizations", "display_name"],
  ["templates", "display_name"],
  ["template_presets", "display_name"],
  ["groups", "display_name"],
  ["tasks", "display_name"],
  ["workspace_proxies", "display_name"],
  ["workspace_apps", "display_name"],
  ["workspace_scripts", "display_name"],
  ["oauth2_clients", "name"],
  ["scim_keys", "name"],
];

/** The labels that are unique in their owner, with the index that says so in which form. */
const unique: ReadonlyArray<
  readonly [table: string, owner: string, form: (name: string) => string, condition: string]
> = [
  ["api_keys", "user_id", (name) => `lower(${name})`, "kind = 'token'"],
  ["user_secrets", "user_id", (name) => name, "true"],
  ["template_presets", "version_id", (name) => name, "true"],
];

/** Cleans the labels that are stored. Where two become equal, the later one gets a number, as in `name-2`. */
export class CleanLabels extends BackfillMigration {
  override up(): void {
    // A source of SCIM keeps what it sent, whatever the server makes of it: with this setting, the triggers leave it alone.
    for (const name of ["copy_account_to_scim", "copy_group_to_scim"])
      this.addSql(`
        do $do$ begin
          execute replace(pg_get_functiondef('${name}'::regproc),
            $q$source is distinct from current_setting('steward.scim_source', true)$q$,
            $q$source is distinct from current_setting('steward.scim_source', true)
              and current_setting('steward.scim_source', true) is distinct from '*'$q$);
        end $do$`);
    for (const [table, column] of labels)
      this.addBackfill(`
        update ${table} set ${column} = ${cleaned(column)}
        where id in (
          select id from (
            select id, set_config('steward.scim_source', '*', true) from ${table} where ${column} ~ '${obeyed}' limit 1000
          ) found)`);
    for (const [table, owner, form, condition] of unique)
      // One at a time: each is compared with those before it.
      this.addBackfill(`
        update ${table} t set name = free.name
        from (
          select id, ${owner} as owner, coalesce(nullif(${cleaned("name")}, ''), 'unnamed') as base from ${table}
          where name ~ '${obeyed}' and ${condition} order by id limit 1
        ) one, lateral (
          select candidate as name from (
            select case when n = 1 then one.base
              else left(one.base, 60) || '-' || n end as candidate, n
            from generate_series(1, 1000) n
          ) candidates
          where not exists (
            select from ${table} other
            where other.${owner} = one.owner and ${form("other.name")} = ${form("candidate")} and ${condition.replace("kind", "other.kind")}
          ) order by n limit 1
        ) free
        where t.id = one.id`);
  }
}
