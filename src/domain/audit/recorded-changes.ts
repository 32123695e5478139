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
  Reference,
} from "@mikro-orm/core";
import type { AuditAction, AuditEntry, Diff } from "./audit.js";

type Field<Entity> = keyof Entity & string;

/** How changes of an entity appear in the audit log. */
interface Audited<Entity> {
  /** The type, the id, the label before the change, and the organization of the resource. */
  resource: (
    entity: Entity,
    before: <Name extends Field<Entity>>(field: Name) => Entity[Name],
  ) => Pick<AuditEntry, "resourceType" | "resourceId" | "resourceLabel" | "organizationId">;
  /** The properties whose old and new values are recorded; references by the id of what they refer to. */
  fields: ReadonlyArray<Field<Entity>>;
  /** Names in the log that differ from those of properties. */
  names?: { readonly [Name in Field<Entity>]?: string };
  /**
   * Secrets, recorded as `"***"` unless they are empty: by the name in the log, the property that changes with the
   * secret.
   */
  secrets?: Readonly<Record<string, Field<Entity>>>;
  /** How deletions are recorded, if not as `delete` with all fields and secrets. Setting `deletedAt` counts as one. */
  deletion?: { action?: AuditAction; fields: ReadonlyArray<Field<Entity>> };
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
      const action = actionOf(change);
      const before = valuesBefore(change, em.getPlatform());
      const diff = { ...diffOf(change, how, before), ...additions.get(change.entity) };
      additions.delete(change.entity);
      if (action !== "update" || Object.keys(diff).length > 0)
        recorders.get(em)!({
          action: (action === "delete" && how.deletion?.action) || action,
          ...how.resource(change.entity, (field) => before(field) ?? change.entity[field]),
          diff,
        });
    }
  },
};

const isRemoval = ({ type }: ChangeSet<object>): boolean =>
  type === ChangeSetType.DELETE || type === ChangeSetType.DELETE_EARLY;

function actionOf(change: ChangeSet<object>): "create" | "update" | "delete" {
  if (isRemoval(change) || (change.payload as Values).deletedAt) return "delete";
  return change.type === ChangeSetType.CREATE ? "create" : "update";
}

/** Reads the values before a change, which are kept as the database has them: 64-bit integers as text. */
function valuesBefore(change: ChangeSet<object>, platform: Platform) {
  return (field: string): unknown => {
    // The row before a removal is that of the entity, which has to be loaded.
    if (isRemoval(change)) return valueOf((change.entity as Values)[field]);
    const old = (change.originalEntity as Values | undefined)?.[field];
    const { customType } = change.meta.properties[field as never] as EntityProperty;
    return old == null || !customType ? old : customType.convertToJSValue(old, platform);
  };
}

type Values = Record<string, unknown>;

/** The value of a property; of a reference, the id of what it refers to. */
const valueOf = (value: unknown): unknown => (Reference.isReference<{ id: string }>(value) ? value.unwrap().id : value);

type Sides = Diff[string];

function diffOf(
  change: ChangeSet<object>,
  { fields, names = {}, secrets = {}, deletion }: Audited<object>,
  before: (field: string) => unknown,
): Diff {
  const action = actionOf(change);
  const sidesOf = (field: string): Sides | undefined => {
    const [old, now] = [before(field), valueOf((change.entity as Values)[field])];
    if (action === "delete") return { old };
    if (action === "create") return now == null ? undefined : { new: now };
    return field in change.payload && !isDeepStrictEqual(now, old) ? { old, new: now } : undefined;
  };
  const isDeletion = action === "delete" && deletion;
  const shown = (isDeletion ? deletion.fields : fields).map((field) => [
    (names as Record<string, string>)[field] ?? field,
    sidesOf(field),
  ]);
  const hidden = Object.entries(isDeletion ? {} : secrets).map(([name, field]) => [name, masked(sidesOf(field))]);
  return Object.fromEntries([...shown, ...hidden].filter(([, sides]) => sides)) as Diff;
}

/** Hides values; `undefined` if the only one is empty. */
function masked(sides: Sides | undefined): Sides | undefined {
  const values = Object.entries(sides ?? {});
  if (values.length === 1 && !values[0]![1]) return undefined;
  return sides && Object.fromEntries(values.map(([side]) => [side, "***"]));
}
