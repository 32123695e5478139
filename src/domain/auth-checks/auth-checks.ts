import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../kernel/context.js";
import type { Actor } from "../kernel/actor.js";
import { isStoredResource, type ObjectReference, readObjects, readOrganizations, storedResources } from "./stored.js";
import { isPermission, mayOn, type Target } from "../authorization/authorization.js";
import { badInput, Problems } from "../kernel/errors.js";
import { isUuid } from "../kernel/text.js";

/** A question: may the caller do this to an object like that? */
export interface AuthCheck {
  /** What the caller calls the question. */
  key: string;
  action?: string | null;
  object?: CheckedObject | null;
}

/** One stored object by its id, or any object with these traits. Empty text is the same as absent. */
export interface CheckedObject {
  resourceType?: string | null;
  resourceId?: string | null;
  /** An id or `me`. */
  ownerId?: string | null;
  /** An id, a name or `default`. */
  organizationId?: string | null;
  /** In at least one of the caller's organisations. */
  anyOrg?: boolean | null;
}

export interface PermissionCheck {
  key: string;
  allowed: boolean;
}

/** Bounds of one request: a document may have several fields of checks. */
const maxChecks = 500;
const maxObjects = 10;
const maxKeyLength = 200;

/** Checks between two turns of the event loop. */
const checksPerTurn = 50;

interface Spent {
  checks: number;
  objects: number;
}

/** What the requests that are running have spent of these bounds. */
const spent = new WeakMap<Context, Spent>();

/**
 * Answers what the caller may do, by the rules that every operation obeys. What is missing, unreadable or unknown
 * allows nothing; the answer never says why.
 */
export async function checkPermissions(ctx: Context, checks: AuthCheck[]): Promise<PermissionCheck[]> {
  const before = spent.get(ctx) ?? { checks: 0, objects: 0 };
  const objects = checks.filter(({ object }) => object?.resourceId).length;
  const total = { checks: before.checks + checks.length, objects: before.objects + objects };
  spent.set(ctx, total);
  requireWellFormed(checks, total);
  const facts = await readFacts(ctx, checks);
  const answers: PermissionCheck[] = [];
  for (const check of checks) {
    answers.push({ key: check.key, allowed: isAllowed(ctx.actor, check, facts) });
    if (answers.length % checksPerTurn === 0) await nextTurn();
  }
  return answers;
}

function requireWellFormed(checks: AuthCheck[], total: Spent): void {
  if (total.checks > maxChecks)
    throw badInput([{ field: "checks", detail: `Must be at most ${maxChecks} checks in one request.` }]);
  const problems = new Problems();
  if (checks.some(({ key }) => key === "" || Array.from(key).length > maxKeyLength)) {
    problems.add("checks", `Keys must be 1 to ${maxKeyLength} characters long.`);
  }
  if (new Set(checks.map(({ key }) => key)).size < checks.length) problems.add("checks", "Keys must differ.");
  if (total.objects > maxObjects) {
    problems.add("checks", `At most ${maxObjects} checks of one request may have a resource id.`);
  }
  for (const [index, { action, object }] of checks.entries()) {
    problems.add(`checks[${index}].action`, action ? undefined : "Is required.");
    problems.add(`checks[${index}].object.resourceType`, resourceTypeProblem(object ?? {}));
    const isId = !object?.resourceId || isUuid(object.resourceId);
    problems.add(`checks[${index}].object.resourceId`, isId ? undefined : "Must be a UUID.");
  }
  problems.throwIfAny();
}

function resourceTypeProblem({ resourceType, resourceId }: CheckedObject): string | undefined {
  if (!resourceType) return "Is required.";
  if (!resourceId || isStoredResource(resourceType)) return undefined;
  return `Objects can be named by id if they are one of: ${storedResources.join(", ")}.`;
}

/** What the checks refer to, as far as the caller can see it. */
interface Facts {
  object(check: CheckedObject): Target | undefined;
  owner(check: CheckedObject): Target | undefined;
  organizationId(check: CheckedObject): string | undefined;
}

async function readFacts(ctx: Context, checks: AuthCheck[]): Promise<Facts> {
  const objects = checks.map(({ object }) => object ?? {});
  const ownerOf = (check: CheckedObject) => ownersOf(ctx.actor, check);
  const [target, organization] = await Promise.all([
    readObjects(ctx, [...objects.flatMap(objectsOf), ...objects.flatMap(ownerOf)]),
    readOrganizations(ctx, objects.flatMap(organizationsOf)),
  ]);
  return {
    object: (check) => objectsOf(check).map(target)[0],
    owner: (check) => ownerOf(check).map(target)[0],
    organizationId: (check) => organizationsOf(check).map(organization)[0],
  };
}

// The references of a check: one of each kind, or none. Traits do not count beside the id of an object.
function objectsOf({ resourceType, resourceId }: CheckedObject): ObjectReference[] {
  return resourceId && resourceType && isStoredResource(resourceType)
    ? [{ resource: resourceType, id: resourceId }]
    : [];
}

function ownersOf({ userId }: Actor, { ownerId, resourceId }: CheckedObject): ObjectReference[] {
  const id = ownerId === "me" ? userId : ownerId;
  return id && !resourceId && isUuid(id) ? [{ resource: "user", id }] : [];
}

const organizationsOf = ({ organizationId, resourceId }: CheckedObject) =>
  organizationId && !resourceId ? [organizationId] : [];

function isAllowed(actor: Actor, { action, object: check }: AuthCheck, facts: Facts): boolean {
  const permission = `${check?.resourceType}:${action}`;
  if (!check || !isPermission(permission)) return false;
  if (check.resourceId) {
    const object = facts.object(check);
    return object !== undefined && mayOn(actor, permission, object);
  }
  const owner = facts.owner(check);
  const organizationId = facts.organizationId(check);
  if ((check.ownerId && !owner) || (check.organizationId && !organizationId)) return false;
  const traits = traitsOf(owner);
  return check.anyOrg && !organizationId
    ? [...actor.organizations.keys()].some((id) => mayOn(actor, permission, { ...traits, organizationId: id }))
    : mayOn(actor, permission, { ...traits, organizationId });
}

/** What counts where no owner is named: an account without roles, and the role that every user admin gives. */
const ordinary: Target = {
  siteRoles: [],
  memberships: [],
  isServiceAccount: false,
  assignedRole: "organization-user-admin",
};

/** What an object has from its owner. */
const traitsOf = (owner: Target | undefined): Target => ({ ...ordinary, ...owner });
