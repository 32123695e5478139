import { Migration } from "@mikro-orm/migrations";

/** Finds users by the email addresses of their SCIM attributes, in any letter case. */
export class ScimEmails extends Migration {
  override up(): void {
    this.addSql(`
      create index scim_user_links_emails_index on scim_user_links using gin (
        (lower(jsonb_path_query_array(attributes, '$.emails[*].value')::text collate "C")::jsonb) jsonb_path_ops
      ) with (gin_pending_list_limit = 64);
    `);
  }
}
