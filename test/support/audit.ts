// The audit log, as owners read it.
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
