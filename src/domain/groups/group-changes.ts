import { databaseTime } from "../../runtime/clock.js";
import { Group } from "../../entities/groups.js";
import { auditChangesOf, auditWith, auditedAs } from "../kernel/audit.js";
import { requireFeature } from "../entitlements/requirements.js";
import type { Context } from "../kernel/context.js";
import { badInput, conflict, DomainError, forbidden, onViolation, Problems } from "../kernel/errors.js";
import { anyOf } from "../kernel/queries.js";
import { changesOf, pickGiven } from "../kernel/changed-fields.js";
import {
  check,
  icon,
  idList,
  type Input,
  inputOf,
  int,
  label,
  optional,
  orEmpty,
  reference,
  required,
} from "../kernel/values.js";
import { lockOrganization } from "../organizations/organizations.js";
import { type GroupRow, GroupSource, groupName, groupReference, isEveryone, lockGroup } from "./groups.js";
import { requireUnlocked } from "../sign-in/locked-groups.js";
import { groupsHint } from "./memberships.js";
import { longestLabel } from "../../entities/lengths.js";

const mostUsers = 1000;

const quotaAllowance = int(0, 2147483647);

export const quotaAllowanceMeaning = "Credits that the group adds to the workspace quota of each member.";

export const CreateGroup = inputOf({
  organization: required(reference, "Organization of the new group: ID, name, or `default`."),
  name: required(groupName, "Unique in the organization: {limits}."),
  displayName: optional(label(longestLabel), "Display name, {limits}. Default: empty."),
  avatarUrl: optional(icon, "URL or path of the avatar, or empty. Default: empty."),
  quotaAllowance: optional(quotaAllowance, `${quotaAllowanceMeaning} Default: 0.`),
});
export type CreateGroup = Input<typeof CreateGroup>;

/** Creates a group without members. Returns its id. */
export async function createGroup(ctx: Context, { organization: ref, ...fields }: CreateGroup): Promise<string> {
  const { id } = await lockOrganization(ctx, ref, "group:create");
  return addGroup(ctx, id, fields);
}

/** Creates a group in an organization that the caller has locked. `members` are members of it. Returns the id. */
export async function addGroup(
  ctx: Context,
  organizationId: string,
  fields: GroupFields & { name: string },
  { source = GroupSource.USER, members = [] }: { source?: GroupSource; members?: readonly string[] } = {},
): Promise<string> {
  requireFeature(ctx, "template_rbac");
  const problems = new Problems();
  check(CreateGroup, fields, problems);
  problems.throwIfAny();
  await requireRoom(ctx, organizationId);

  const group = ctx.em.create(Group, { ...pickGiven(fields), name: fields.name, organization: organizationId, source });
  if (members.length > 0) auditWith(group, { members: { old: [], new: members } });
  await ctx.em.flush().catch(onNameTaken);
  await addMembers(ctx, { id: group.id, organizationId }, members);
  return group.id;
}

/** Throws BAD_USER_INPUT if an organization has as many groups as it may have, Everyone not counted. */
async function requireRoom(ctx: Context, organizationId: string): Promise<void> {
  const most = ctx.config.groupsMaxPerOrganization;
  const { count } = await ctx.db
    .selectFrom("groups")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organizationId", "=", organizationId)
    .where("id", "<>", organizationId)
    .executeTakeFirstOrThrow();
  const detail = `The organization already has ${most} groups, which is the most it may have.`;
  if (count >= most) throw badInput([{ field: "name", detail }]);
}

export const UpdateGroup = inputOf({
  group: required(reference, groupReference),
  name: optional(orEmpty(groupName), "New name, unique in the organization; empty to keep it."),
  displayName: optional(label(longestLabel), "New display name, {limits}."),
  avatarUrl: optional(icon, "New URL or path of the avatar, or empty for none."),
  quotaAllowance: optional(quotaAllowance, quotaAllowanceMeaning),
  addUsers: optional(
    idList(mostUsers, "users"),
    "IDs of users to add, {limits}. They must be members of the organization. They get all that the group has: its quota, its AI budget, and its roles on templates and workspaces.",
  ),
  removeUsers: optional(
    idList(mostUsers, "users"),
    "IDs of users to remove, {limits}. Removals are applied after additions.",
  ),
});
export type UpdateGroup = Input<typeof UpdateGroup>;

/** The fields of a group that callers can set. */
export type GroupFields = Omit<UpdateGroup, "group" | "addUsers" | "removeUsers">;

/** Changes a group and its members: first additions, then removals. Any fault rolls back all of it. Returns the id. */
export async function updateGroup(ctx: Context, { group: ref, addUsers, removeUsers, ...fields }: UpdateGroup) {
  const add = addUsers ?? [];
  const remove = removeUsers ?? [];
  const group = await lockGroup(ctx, ref, "group:update", add.length > mostUsers ? [] : add);
  requireFeature(ctx, "template_rbac");
  if (isEveryone(group) && add.length + remove.length > 0)
    throw forbidden("Members of the Everyone group are managed by the organization.");

  const isNamed = fields.name != null && fields.name !== "" && fields.name !== group.name;
  if (add.length + remove.length > 0 || isNamed) await requireUnlocked(ctx, group);

  const problems = new Problems();
  check(UpdateGroup, { addUsers, removeUsers }, problems);
  const isFew = problems.isEmpty;
  const changes = changesOf(group, { ...fields, name: fields.name || null });
  if (isEveryone(group)) addEveryoneProblems(problems, changes);
  else check(UpdateGroup, changes, problems);
  if (isFew) await addMemberProblems(ctx, problems, group, add);
  problems.throwIfAny();

  await changeGroup(ctx, group, changes, { add, remove });
  return group.id;
}

/** Users who join and who leave a group. */
export interface MembersChange {
  /** Members of its organization. */
  add: readonly string[];
  remove: readonly string[];
  /** Whether all other members leave. */
  isReplaced?: boolean;
}

/** Writes a change of a group that the caller has locked. */
export async function changeGroup(
  ctx: Context,
  group: Pick<GroupRow, "id" | "organizationId">,
  fields: GroupFields,
  { add, remove, isReplaced = false }: MembersChange,
): Promise<void> {
  requireFeature(ctx, "template_rbac");
  const leaving = new Set(remove);
  const joining = add.filter((user) => !leaving.has(user));
  const added = await addMembers(ctx, group, joining);
  const removed = isReplaced ? await removeOthers(ctx, group, joining) : await removeMembers(ctx, group, remove);
  const stored = await ctx.em.findOneOrFail(Group, group.id);
  ctx.em.assign(stored, pickGiven(fields));
  if (added.length + removed.length > 0) {
    stored.updatedAt = new Date(databaseTime());
    auditWith(stored, { members: { old: removed, new: added } });
  }
  await ctx.em.flush().catch(onNameTaken);
  ctx.publish(...removed.map(groupsHint));
}

type Members = Pick<GroupRow, "id" | "organizationId">;

/** Adds those of some members of the organization that are not in the group yet, and returns them. */
async function addMembers(ctx: Context, { id, organizationId }: Members, users: readonly string[]): Promise<string[]> {
  if (users.length === 0) return [];
  const added = await ctx.db
    .insertInto("groupMembers")
    .columns(["groupId", "organizationId", "userId"])
    .expression((eb) =>
      eb
        .selectFrom("organizationMembers")
        .select([eb.val(id).as("groupId"), "organizationId", "userId"])
        .where("organizationId", "=", organizationId)
        .where("userId", "=", anyOf(users)),
    )
    .onConflict((on) => on.doNothing())
    .returning("userId")
    .execute();
  return added.map(({ userId }) => userId);
}

const removing = (ctx: Context, { id }: Members) =>
  ctx.db.deleteFrom("groupMembers").where("groupId", "=", id).returning("userId");

/** Removes those of some users that are in the group, and returns them. */
async function removeMembers(ctx: Context, group: Members, users: readonly string[]): Promise<string[]> {
  if (users.length === 0) return [];
  const removed = await removing(ctx, group).where("userId", "=", anyOf(users)).execute();
  return removed.map(({ userId }) => userId);
}

/** Removes all members but some, and returns them. */
async function removeOthers(ctx: Context, group: Members, kept: readonly string[]): Promise<string[]> {
  const removed = await removing(ctx, group)
    .where((eb) => eb.not(eb("userId", "=", anyOf(kept))))
    .execute();
  return removed.map(({ userId }) => userId);
}

export const DeleteGroup = inputOf({ group: required(reference, groupReference) });

/** Deletes a group with its memberships and budget. Returns the group before the deletion. */
export async function deleteGroup(ctx: Context, ref: string): Promise<GroupRow> {
  const group = await lockGroup(ctx, ref, "group:delete");
  if (isEveryone(group)) throw new DomainError("BAD_USER_INPUT", "The Everyone group cannot be deleted.");
  await deleteLockedGroup(ctx, group);
  return group;
}

/** Deletes a group that the caller has locked, with the commit: until then, its members and its budget can be read. */
export async function deleteLockedGroup(ctx: Context, group: Pick<GroupRow, "id">): Promise<void> {
  const members = await ctx.db.selectFrom("groupMembers").select("userId").where("groupId", "=", group.id).execute();
  ctx.publish(...members.map(({ userId }) => groupsHint(userId)));
  ctx.em.remove(await ctx.em.findOneOrFail(Group, group.id));
}

auditChangesOf(Group, {
  resource: ({ id, organization }, before) => auditedAs("group", id, before("name"), organization.id),
  fields: ["name", "displayName", "avatarUrl", "quotaAllowance", "source"],
});

const onNameTaken = onViolation({
  groups_name_unique: () =>
    conflict("A group of this name already exists in the organization.", [
      { field: "name", detail: "Is the name of another group of the organization." },
    ]),
});

/** Adds the faults of new values. Everyone cannot be renamed. */
function addEveryoneProblems(problems: Problems, { name, displayName, ...others }: GroupFields): void {
  if (name) problems.add("name", "The Everyone group cannot be renamed.");
  if (displayName) problems.add("displayName", "The Everyone group cannot be renamed.");
  check(UpdateGroup, others, problems);
}

/** Adds the faults of users to be added to a locked group. */
async function addMemberProblems(
  ctx: Context,
  problems: Problems,
  { id, eligible }: { id: string; eligible: readonly string[] },
  add: readonly string[],
): Promise<void> {
  if (add.length === 0) return;
  const query = ctx.db.selectFrom("groupMembers").select("userId").where("groupId", "=", id);
  const present = await query.where("userId", "=", anyOf(add)).execute();
  const members = new Set(eligible);
  const inGroup = new Set(present.map(({ userId }) => userId));
  const named = new Set<string>();
  for (const [index, user] of add.entries()) {
    const field = `addUsers[${index}]`;
    if (named.has(user)) problems.add(field, "Must occur only once.");
    else if (!members.has(user)) problems.add(field, "Must be a member of the organization.");
    else if (inGroup.has(user)) problems.add(field, "Must not be in the group yet.");
    named.add(user);
  }
}
