import { Migration } from "@mikro-orm/migrations";

/** Each filter of the audit log has an index in exactly the order of the list. */
export class AuditOrder extends Migration {
  override up(): void {
    this.addSql(`
      drop index audit_events_organization_index;
      drop index audit_events_resource_index;
      drop index audit_events_actor_index;
      drop index audit_events_action_index;
      create index audit_events_organization_index on audit_events (organization_id, time, id);
      create index audit_events_resource_index on audit_events (resource_id, time, id);
      create index audit_events_resource_type_index on audit_events (resource_type, time, id);
      create index audit_events_organization_type_index on audit_events (organization_id, resource_type, time, id);
      create index audit_events_organization_action_index on audit_events (organization_id, action, time, id);
      create index audit_events_actor_index on audit_events (actor_id, time, id);
      create index audit_events_action_index on audit_events (action, time, id);
    `);
  }
}
