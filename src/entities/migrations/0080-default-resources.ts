import { Migration } from "@mikro-orm/migrations";

/**
 * Applications have a resource for requests that name none, and device codes keep the scopes that their application cannot
 * get. Servers of the previous release, which do not know these, insert no values for them.
 */
export class DefaultResources extends Migration {
  override up(): void {
    this.addSql("alter table oauth2_clients add column default_resource varchar(2048) null");
    this.addSql("alter table oauth2_device_codes add column refused_scopes text[] not null default '{}'");
  }
}
