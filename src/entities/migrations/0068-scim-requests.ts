import { Migration } from "@mikro-orm/migrations";

/** Keeps the requests of SCIM keys that failed. */
export class ScimRequests extends Migration {
  override up(): void {
    this.addSql(`
      create table scim_requests (
        id uuid primary key,
        scim_key_id varchar(10) not null,
        time timestamptz(3) not null,
        method varchar(16) not null,
        path varchar(512) not null,
        status int not null,
        scim_type varchar(32) null,
        detail varchar(512) null,
        request_id varchar(128) not null,
        constraint scim_requests_scim_key_id_foreign foreign key (scim_key_id) references scim_keys (id) on delete cascade
      );
      create index scim_requests_key_index on scim_requests (scim_key_id, time, id);
    `);
  }
}
