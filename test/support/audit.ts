// The audit log, as owners read it.
import { newId } from "./ids.js";
import type { World } from "./world.js";

/** An event, with what changed: the old and the new value of each field. */
export interface AuditEvent {
  action: string;
  actorKind: string;
  actorId: string | null;
  apiKeyId: string | null;
  resourceType: string;
  resourceId: string | null;
  resourceLabel: string | null;
  organizationId: string | null;
  diff: Record<string, Record<string, unknown>>;
}

/** The events that match, oldest first. There must be less than 1,000. */
export async function audited(
  w: World,
  filter: { resourceId?: string; resourceType?: string; action?: string; actor?: string },
): Promise<AuditEvent[]> {
  const { auditEvents } = await w.as(w.owner).graphql(
    `query($filter: AuditEventFilter) { auditEvents(filter: $filter, first: 1000) {
       pageInfo { hasNextPage }
       nodes { action actorKind actorId apiKeyId resourceType resourceId resourceLabel organizationId diff } } }`,
    { filter },
  );
  if (auditEvents.pageInfo.hasNextPage) throw new Error("There are more events.");
  return auditEvents.nodes.toReversed();
}

/** Action and changes of the events about an object, oldest first. */
export const changesOf = async (w: World, resourceId: string, resourceType?: string) =>
  (await audited(w, { resourceId, resourceType })).map(({ action, diff }) => ({ action, diff }));

/** Copies an event, as if it had happened so many times more. The labels of the copies are `copy 1`, and so on. */
export async function copyAuditEvent(
  { app: { services } }: World,
  { resourceType, label, count }: { resourceType: string; label: string; count: number },
): Promise<void> {
  await services.database.pool.query(
    `insert into audit_log (id, time, actor_id, actor_kind, action, resource_type, resource_id, resource_label, organization_id, diff,
       request_id)
     select c.id, e.time, e.actor_id, e.actor_kind, e.action, e.resource_type, e.resource_id, 'copy ' || c.nr, e.organization_id, e.diff,
       e.request_id
     from (select * from audit_log where resource_type = $1 and resource_label = $2 limit 1) e,
       unnest($3::uuid[]) with ordinality c (id, nr)`,
    [resourceType, label, Array.from({ length: count }, () => newId())],
  );
  services.auditNumbers.soon();
}
