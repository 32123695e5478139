import { isDeepStrictEqual } from "node:util";
import {
  type ChangeSet,
  ChangeSetType,
  type EntityManager,
  type EntityProperty,
  type EventManager,
  type EventSubscriber,
  type FlushEventArgs,
  type Platform,
} from "@mikro-orm/core";
import type { AuditEntry, Diff } from "./audit.js";

/** How changes of an entity appear in the audit log. */
interface Audited<Entity> {
  /** The type, the id, the label before the change, and the organization of the resource. */
  resource: (
    entity: Entity,
    before: <Field extends keyof Entity & string>(field: Field) => Entity[Field],
  ) => Pick<AuditEntry, "resourceType" | "resourceId" | "resourceLabel" | "organizationId">;
  /** The properties whose old and new values are recorded. */
  fields: ReadonlyArray<keyof Entity & string>;
  /** Those whose values are recorded as `"***"`. */
  secrets?: ReadonlyArray<keyof Entity & string>;
}

const audited = new Map<string, Audited<object>>();

/** Declares that the audit log records all changes of an entity that mutations flush. */
export function auditChangesOf<Entity extends object>({ name }: new () => Entity, how: Audited<Entity>): void {
  audited.set(name, how as unknown as Audited<object>);
}

const additions = new WeakMap<object, Diff>();

/** Records what is no column of an entity, such as its members, with the change of it that the next flush writes. */
export const auditWith = (entity: object, diff: Diff): void => void additions.set(entity, diff);

type Recorder = (entry: AuditEntry) => void;

const recorders = new WeakMap<EntityManager, Recorder>();
const subscribed = new WeakSet<EventManager>();

/** Records what the entity manager of a mutation flushes. */
export function recordFlushes(em: EntityManager, record: Recorder): void {
  recorders.set(em, record);
  const events = em.getEventManager();
  if (subscribed.has(events)) return;
  subscribed.add(events);
  events.registerSubscriber(subscriber);
}

const subscriber: EventSubscriber = {
  onFlush({ em, uow }: FlushEventArgs) {
    for (const change of uow.getChangeSets()) {
      const how = audited.get(change.meta.className);
      if (!how) continue;
      const action = actions[change.type];
      const before = valuesBefore(change, em.getPlatform());
      const diff = { ...diffOf(change, how, before), ...additions.get(change.entity) };
      additions.delete(change.entity);
      if (action !== "update" || Object.keys(diff).length > 0)
        recorders.get(em)!({
          action,
          ...how.resource(change.entity, (field) => before(field) ?? change.entity[field]),
          diff,
        });
    }
  },
};

const actions = {
  [ChangeSetType.CREATE]: "create",
  [ChangeSetType.UPDATE]: "update",
  [ChangeSetType.UPDATE_EARLY]: "update",
  [ChangeSetType.DELETE]: "delete",
  [ChangeSetType.DELETE_EARLY]: "delete",
} as const;

/** Reads the values before a change, which are kept as the database has them: 64-bit integers as text. */
function valuesBefore(change: ChangeSet<object>, platform: Platform) {
  return (field: string): unknown => {
    // The row before a deletion is that of the entity, which has to be loaded.
    if (actions[change.type] === "delete") return (change.entity as Values)[field];
    const old = (change.originalEntity as Values | undefined)?.[field];
    const type = change.meta.properties[field as never] as EntityProperty;
    return old == null || !type.customType ? old : type.customType.convertToJSValue(old, platform);
  };
}

type Values = Record<string, unknown>;

function diffOf(
  change: ChangeSet<object>,
  { fields, secrets = [] }: Audited<object>,
  before: (field: string) => unknown,
): Diff {
  const isDeleted = actions[change.type] === "delete";
  const now = change.entity as Values;
  const diff: Diff = {};
  for (const field of fields as readonly string[]) {
    const old = before(field);
    if (isDeleted) diff[field] = { old };
    else if (field in change.payload && !isDeepStrictEqual(now[field], old))
      diff[field] = old === undefined ? { new: now[field] } : { old, new: now[field] };
  }
  for (const field of secrets as readonly string[]) if (diff[field]) diff[field] = masked(diff[field]);
  return diff;
}

const masked = (sides: object): Diff[string] => Object.fromEntries(Object.keys(sides).map((side) => [side, "***"]));
