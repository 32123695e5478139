// The catalog of events that endpoints receive: the audited actions on what belongs to an organization, and the notifications
// about it that are about no action.
import * as z from "zod/mini";
import { AuditAction } from "../kernel/audit.js";
import { jsonSchemaOf } from "../kernel/values.js";
import { templates } from "../notifications/templates/all-templates.js";

const { CREATE, UPDATE, DELETE, START, STOP, DELIVER, DENY } = AuditAction;

const changes = [CREATE, UPDATE, DELETE] as const;

/** The audited types of resources that belong to organizations, with their actions and words for them. */
const eventResources: Readonly<Record<string, readonly [noun: string, ...actions: AuditAction[]]>> = {
  event_endpoint: ["An event endpoint", ...changes],
  group: ["A group", ...changes],
  group_ai_budget: ["The AI budget of a group", ...changes],
  organization: ["The organization", UPDATE],
  organization_member: ["A membership of the organization", ...changes],
  provisioner_daemon: ["A provisioner daemon", DELETE],
  provisioner_job: ["A job of a provisioner", CREATE, UPDATE],
  provisioner_key: ["A provisioner key", ...changes],
  task: ["A task", ...changes],
  task_input: ["An input of a task", CREATE, UPDATE],
  template: ["A template", ...changes],
  template_version: ["A version of a template", CREATE, UPDATE],
  workspace: ["A workspace", ...changes, START, STOP, DENY],
  workspace_agent: ["The agent of a workspace", DELIVER],
};

const verbs: Partial<Record<AuditAction, string>> = {
  create: "was created",
  update: "was changed",
  delete: "was deleted",
  start: "is started",
  stop: "is stopped",
  deliver: "received secrets or its token",
  deny: "was offered, and the offer was declined",
};

/** The version of the form of all events. A change that receivers have to know raises it. */
export const eventVersion = 1;

/** The type of the message that tests an endpoint. */
export const testType = "event_endpoint.test";

/** The type of an audit event. */
export const typeOfEvent = ({ resourceType, action }: { resourceType: string; action: string }): string =>
  `${resourceType}.${action}`;

/** The type of the object of events of a type. */
export const resourceOf = (type: string): string => type.slice(0, type.indexOf("."));

const value = z.optional(z.unknown()).check(z.describe("Any JSON."));

const actorForm = z.object({
  kind: z.string().check(z.describe("`user`, or the kind of machine that acted; `system` for the server itself.")),
  id: z.nullable(z.string()).check(z.describe("ID of the user or the machine, if it has one.")),
  name: z.optional(z.nullable(z.string())).check(z.describe("Username at that time. Not in thin events.")),
});

const objectForm = z.object({
  type: z.string().check(z.describe("Type of the object.")),
  id: z.nullable(z.string()).check(z.describe("ID of the object, if it has one.")),
  name: z.optional(z.nullable(z.string())).check(z.describe("Its name at that time. Not in thin events.")),
});

/** The form of events. */
const eventForm = z.object({
  type: z.string().check(z.describe("Type of the event.")),
  version: z.literal(eventVersion).check(z.describe("Version of the form of the event.")),
  timestamp: z.string().check(z.meta({ format: "date-time" }), z.describe("When it happened, in UTC.")),
  sequence: z
    .nullable(z.int())
    .check(z.describe("Never lower than that of an earlier event of the object. Null for a test.")),
  organization_id: z.string().check(z.meta({ format: "uuid" }), z.describe("ID of the organization.")),
  data: z.object({
    object: objectForm,
    actor: actorForm,
    changes: z
      .optional(z.record(z.string(), z.object({ old: value, new: value })))
      .check(z.describe('The changed fields. Secret values are `"***"`. Not in thin and in cut events.')),
    is_cut: z
      .optional(z.boolean())
      .check(z.describe("True if the changes were left out because the event would be too large.")),
    details: z
      .optional(z.record(z.string(), z.unknown()))
      .check(z.describe("Of events from notifications: names, times, and numbers. Not in thin events.")),
    request_id: z.string().check(z.describe("ID of the request, as in the audit log.")),
  }),
});

/** An event as endpoints receive it. */
export type EventBody = z.output<typeof eventForm>;

/** A type of events. */
export interface EventType {
  /** Its name, such as `group.update`. */
  name: string;
  description: string;
  version: number;
  /** The JSON Schema of its events. */
  schema: Record<string, unknown>;
  example: EventBody;
  /** Whether it is made from a notification. */
  isNotified: boolean;
}

/** The schema of the events of one type. */
function schemaOf(name: string): Record<string, unknown> {
  const schema = jsonSchemaOf(eventForm) as { properties: Record<string, object> };
  return { ...schema, properties: { ...schema.properties, type: { ...schema.properties["type"], const: name } } };
}

const exampleOf = (type: string, told: Pick<EventBody["data"], "changes" | "details">): EventBody => ({
  type,
  version: eventVersion,
  timestamp: "2026-11-29T12:34:56.789Z",
  sequence: 1742,
  organization_id: "019a1c6e-70c3-7a31-b4c6-0e6a3d0c52f1",
  data: {
    object: { type: resourceOf(type), id: "019a1c70-02f4-7b7e-9c3d-8a1d5a4f0b62", name: "example" },
    actor: { kind: "user", id: "019a1c6f-11aa-7e0d-a2b7-54c1c0f3d9e8", name: "ada" },
    ...told,
    request_id: "0f9d1f3c-9d53-4f0e-8b1a-2f6c7f1f4b7e",
  },
});

const fromActions = Object.entries(eventResources).flatMap(([resource, [noun, ...actions]]) =>
  actions.map((action): EventType => {
    const name = typeOfEvent({ resourceType: resource, action });
    const change = action === CREATE ? { new: "example" } : { old: "former", new: "example" };
    return {
      name,
      description: `${noun} ${verbs[action]}.`,
      version: eventVersion,
      schema: schemaOf(name),
      example: exampleOf(name, { changes: { name: change } }),
      isNotified: false,
    };
  }),
);

/** Examples of details that are no names. */
const exampleDetails: Readonly<Record<string, unknown>> = {
  deadline: "2026-11-29T18:00:00.000Z",
  deleting_at: "2026-12-29T12:34:56.789Z",
  ends_at: "2026-12-06T12:34:56.789Z",
  failed_builds: 3,
  total_builds: 40,
  threshold: "90%",
  transition: "start",
};

const fromNotifications = templates.flatMap(({ event }): EventType[] => {
  if (!event) return [];
  const details = Object.fromEntries(event.details.map((name) => [name, exampleDetails[name] ?? "example"]));
  return [
    {
      name: event.type,
      description: event.when,
      version: eventVersion,
      schema: schemaOf(event.type),
      example: exampleOf(event.type, { details }),
      isNotified: true,
    },
  ];
});

const resources = Object.keys(eventResources);

/** Types of the same resource follow each other. */
const order = (type: string): number => resources.indexOf(resourceOf(type));

/** All types of events, by name. */
export const eventTypes: ReadonlyMap<string, EventType> = new Map(
  [...fromActions, ...fromNotifications]
    .toSorted((one, other) => order(one.name) - order(other.name))
    .map((type) => [type.name, type] as const),
);

/** Whether events of a type are made from notifications. */
export const isNotified = (type: string): boolean => eventTypes.get(type)?.isNotified ?? false;

/** Whether a text names a type of events, or all types of a resource, such as `group.*`. */
export const isTypeFilter = (text: string): boolean =>
  eventTypes.has(text) || (text.endsWith(".*") && Object.hasOwn(eventResources, text.slice(0, -2)));

/** Whether the filter of an endpoint selects a type of events. */
export const selects = (filter: readonly string[], type: string): boolean =>
  eventTypes.has(type) && (filter.length === 0 || filter.includes(type) || filter.includes(`${resourceOf(type)}.*`));
