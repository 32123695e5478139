import { Migration } from "@mikro-orm/migrations";

/** Orders all columns of the indexes of the connection log alike, as the comparisons of its pages need it. */
export class ConnectionLogOrder extends Migration {
  override up(): void {
    this.addSql(`
      drop index connection_logs_time_index,
        connection_logs_organization_index,
        connection_logs_type_index,
        connection_logs_organization_type_index,
        connection_logs_workspace_index,
        connection_logs_owner_index,
        connection_logs_user_index,
        connection_logs_ongoing_index,
        connection_logs_organization_ongoing_index;
      create index connection_logs_time_index on connection_logs (connect_time, id);
      create index connection_logs_organization_index on connection_logs (organization_id, connect_time, id);
      create index connection_logs_type_index on connection_logs (type, connect_time, id);
      create index connection_logs_organization_type_index on connection_logs (organization_id, type, connect_time, id);
      create index connection_logs_workspace_index on connection_logs (workspace_id, connect_time, id);
      create index connection_logs_owner_index on connection_logs (workspace_owner_id, connect_time, id);
      create index connection_logs_user_index on connection_logs (user_id, connect_time, id) where user_id is not null;
      create index connection_logs_ongoing_index on connection_logs (connect_time, id) where disconnect_time is null and connection_id is not null;
      create index connection_logs_organization_ongoing_index on connection_logs (organization_id, connect_time, id) where disconnect_time is null and connection_id is not null;
    `);
  }
}
