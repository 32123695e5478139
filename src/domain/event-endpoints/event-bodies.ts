// The bodies of messages: made from the audit log or from notifications, alike for each attempt.
import { databaseTime } from "../../runtime/clock.js";
import type { StoredEvent } from "../audit/audit-log.js";
import type { StoredNotifiedEvent } from "../notifications/notified-events.js";
import { type EventBody, eventVersion, resourceOf, testType, typeOfEvent } from "./event-types.js";

/** Maximum size of a body in bytes. The changes of larger ones are left out. */
const largestBody = 64 * 1024;

interface Options {
  number: number | null;
  isThin: boolean;
}

/** Returns the body of an event as text. Thin ones have no names and no changes. */
export function bodyOf(event: StoredEvent | StoredNotifiedEvent, { number, isThin }: Options): string {
  const content = "details" in event ? notifiedContent(event, number, isThin) : contentOf(event, number, isThin);
  const whole = JSON.stringify(content);
  if (Buffer.byteLength(whole) <= largestBody) return whole;
  const { changes: _, ...data } = content.data;
  return JSON.stringify({ ...content, data: { ...data, is_cut: true } });
}

function contentOf(event: StoredEvent, number: number | null, isThin: boolean): EventBody {
  const { resourceType: type, resourceId, resourceLabel, actorKind: kind, actorId, apiKeyId, actorUsername } = event;
  // The id of a SCIM key is the public part of its token, as it is listed.
  const actor = { kind, id: kind === "scim_key" ? apiKeyId : actorId };
  const object = { type, id: resourceId };
  return {
    type: typeOfEvent(event),
    version: eventVersion,
    timestamp: new Date(event.time).toISOString(),
    sequence: number,
    organization_id: event.organizationId!,
    data: {
      object: isThin ? object : { ...object, name: resourceLabel },
      actor: isThin ? actor : { ...actor, name: actorUsername },
      ...(!isThin && { changes: event.diff }),
      request_id: event.requestId,
    },
  };
}

const notifiedContent = (event: StoredNotifiedEvent, number: number | null, isThin: boolean): EventBody => ({
  type: event.type,
  version: eventVersion,
  timestamp: new Date(event.createdAt).toISOString(),
  sequence: number,
  organization_id: event.organizationId,
  data: {
    object: { type: resourceOf(event.type), id: event.objectId, ...(!isThin && { name: event.objectName }) },
    actor: { kind: event.actorKind, id: event.actorId, ...(!isThin && { name: event.actorName }) },
    ...(!isThin && { details: event.details }),
    request_id: event.requestId,
  },
});

/** Returns the body of a message that tests an endpoint. */
export function testBody(endpoint: { id: string; name: string; organizationId: string; makerId: string }): string {
  const content: EventBody = {
    type: testType,
    version: eventVersion,
    timestamp: new Date(databaseTime()).toISOString(),
    sequence: null,
    organization_id: endpoint.organizationId,
    data: {
      object: { type: "event_endpoint", id: endpoint.id, name: endpoint.name },
      actor: { kind: "user", id: endpoint.makerId },
      request_id: "",
    },
  };
  return JSON.stringify(content);
}
