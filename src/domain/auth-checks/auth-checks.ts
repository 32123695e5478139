import { setImmediate as nextTurn } from "node:timers/promises";
import type { Context } from "../kernel/context.js";
import { requireUser, type UserActor } from "../kernel/actor.js";
import {
  isStoredResource,
  type ObjectReference,
  readObjects,
  readOrganizations,
  storedResources,
} from "./stored-objects.js";
import { isPermission, mayOn, type Target } from "../authorization/authorization.js";
import { badInput, Problems } from "../kernel/errors.js";
import { isUuid } from "../../runtime/text.js";
import {
  bytes,
  characters,
  check as checkRules,
  flag,
  inputOf,
  type Input,
  list,
  meant,
  nonEmpty,
  optional,
  required,
  textBy,
} from "../kernel/values.js";

/** The name of a type or an action, whether it exists or not. */
const checkedName = nonEmpty(characters(1, 64));

const objectId = textBy((text) => (text === "" || isUuid(text) ? undefined : "Must be a UUID."), {
  pattern: "^([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})?$",
});

const checkedReference = meant(bytes(0, 255), { kind: "reference" });

const maxKeyLength = 200;

/** An object of a check. */
export const CheckedObject = inputOf({
  resourceType: required(checkedName, "Type of the object, such as `group` or `workspace`."),
  resourceId: optional(objectId, "ID of a stored object. If given, the attributes below are ignored."),
  ownerId: optional(checkedReference, "Owner of the object: a user ID or `me`."),
  organizationId: optional(checkedReference, "Organization of the object: an ID, a name, or `default`."),
  anyOrg: optional(
    flag,
    "Whether to match an object in any of the caller's organizations. Ignored if `organizationId` is given.",
  ),
});
export type CheckedObject = Input<typeof CheckedObject>;

/** A check whether the caller may perform an action on an object. */
export const AuthCheck = inputOf({
  key: required(
    characters(1, maxKeyLength),
    "Name of the check, unique within the request, {limits}. Returned with the result.",
  ),
  action: required(checkedName, "The action, such as `read` or `update`."),
  object: required(CheckedObject, "The object."),
});
export type AuthCheck = Input<typeof AuthCheck>;

export interface PermissionCheck {
  key: string;
  allowed: boolean;
}

/** Limits per request, over all fields of a document. */
const maxChecks = 500;
export const AuthChecks = inputOf({ checks: required(list(maxChecks, AuthCheck), "The checks.") });
export type AuthChecks = Input<typeof AuthChecks>;
const maxObjects = 10;

/** Checks after which to yield to the event loop. */
const checksPerTurn = 50;

interface Spent {
  checks: number;
  objects: number;
}

/** Checks so far, by request. */
const spent = new WeakMap<Context, Spent>();

/**
 * Evaluates the checks by the policy that all operations use. Missing, invisible, and unknown objects allow nothing;
 * the result does not reveal the reason.
 */
export async function checkPermissions(ctx: Context, checks: AuthCheck[]): Promise<PermissionCheck[]> {
  const actor = requireUser(ctx.actor);
  const before = spent.get(ctx) ?? { checks: 0, objects: 0 };
  const objects = checks.filter(({ object }) => object.resourceId).length;
  const total = { checks: before.checks + checks.length, objects: before.objects + objects };
  spent.set(ctx, total);
  requireWellFormed(checks, total);
  const references = await readReferences(ctx, actor, checks);
  const results: PermissionCheck[] = [];
  for (const check of checks) {
    results.push({ key: check.key, allowed: isAllowed(actor, check, references) });
    if (results.length % checksPerTurn === 0) await nextTurn();
  }
  return results;
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
    const path = `checks[${index}]`;
    checkRules(AuthCheck, { action }, problems, path);
    problems.add(`${path}.object.resourceType`, storedTypeProblem(object));
    checkRules(CheckedObject, object, problems, `${path}.object`);
  }
  problems.throwIfAny();
}

function storedTypeProblem({ resourceType, resourceId }: CheckedObject): string | undefined {
  if (!resourceType || !resourceId || isStoredResource(resourceType)) return undefined;
  return `Objects can be named by id if they are one of: ${storedResources.join(", ")}.`;
}

/** Resolves the references of checks; `undefined` for what the caller cannot see. */
interface References {
  object(check: CheckedObject): Target | undefined;
  owner(check: CheckedObject): Target | undefined;
  organizationId(check: CheckedObject): string | undefined;
}

async function readReferences(ctx: Context, actor: UserActor, checks: AuthCheck[]): Promise<References> {
  const objects = checks.map(({ object }) => object);
  const ownerOf = (check: CheckedObject) => ownersOf(actor, check);
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

// The references of a check: at most one of each kind. The id of an object takes precedence over traits.
function objectsOf({ resourceType, resourceId }: CheckedObject): ObjectReference[] {
  return resourceId && isStoredResource(resourceType) ? [{ resource: resourceType, id: resourceId }] : [];
}

function ownersOf({ userId }: UserActor, { ownerId, resourceId }: CheckedObject): ObjectReference[] {
  const id = ownerId === "me" ? userId : ownerId;
  return id && !resourceId && isUuid(id) ? [{ resource: "user", id }] : [];
}

const organizationsOf = ({ organizationId, resourceId }: CheckedObject) =>
  organizationId && !resourceId ? [organizationId] : [];

function isAllowed(actor: UserActor, { action, object: check }: AuthCheck, references: References): boolean {
  const permission = `${check.resourceType}:${action}`;
  if (!isPermission(permission)) return false;
  if (check.resourceId) {
    const object = references.object(check);
    return object !== undefined && mayOn(actor, permission, object);
  }
  const owner = references.owner(check);
  const organizationId = references.organizationId(check);
  if ((check.ownerId && !owner) || (check.organizationId && !organizationId)) return false;
  const traits = traitsOf(owner);
  return check.anyOrg && !organizationId
    ? [...actor.organizations.keys()].some((id) => mayOn(actor, permission, { ...traits, organizationId: id }))
    : mayOn(actor, permission, { ...traits, organizationId });
}

/** The default traits, without an owner: an account without roles, and a role that every user admin may assign. */
const ordinary: Target = {
  siteRoles: [],
  memberships: [],
  isServiceAccount: false,
  assignedRole: "organization-user-admin",
};

/** The traits that an object takes from its owner. */
const traitsOf = (owner: Target | undefined): Target => ({ ...ordinary, ...owner });
