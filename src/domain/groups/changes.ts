import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { auditedAs, type Diff, diffOf } from "../audit/audit.js";
import { statement } from "../kernel/database.js";
import { requireFeature } from "../entitlements/requirements.js";
import { badInput, conflict, DomainError, forbidden, Problems, onViolation } from "../kernel/errors.js";
import { lockOrganization } from "../organizations/organizations.js";
import { displayNameProblem, groupNameProblem, iconProblem, wholeNumber } from "../kernel/text.js";
import { aiBudgetOf } from "./budgets.js";
import { findGroup, type GroupRow, GroupSource, isEveryone, lockGroup, type LockedGroup } from "./groups.js";
import type { MembersQuery } from "./members.js";

/** The fields of a group that callers can set. */
export interface GroupFields {
  name?: string | null;
  displayName?: string | null;
  avatarUrl?: string | null;
  quotaAllowance?: number | null;
}

export interface CreateGroup extends GroupFields {
  organization: string;
}

const insertGroup = statement<{ id: string | null; others: number }>(`
  with others as (select count(*) as number from groups where organization_id = $2 and id <> $2),
  created as (
    insert into groups
      (id, organization_id, name, display_name, avatar_url, quota_allowance, source, created_at, updated_at)
    select $1, $2, $3, $4, $5, $6, $8, now(), now() from others where number < $7
    on conflict on constraint groups_name_unique do nothing
    returning id
  )
  select (select id from created) as id, number as others from others`);

/** Creates a group without members. Returns its id. */
export async function createGroup(
  ctx: Context,
  { organization: ref, ...fields }: CreateGroup,
  source: GroupSource = GroupSource.USER,
): Promise<string> {
  const organization = await lockOrganization(ctx, ref, "group:create");
  requireFeature(ctx, "template_rbac");
  const problems = new Problems();
  if (fields.name == null) problems.add("name", "Is required.");
  addFieldProblems(problems, fields);
  problems.throwIfAny();

  const { name, displayName, avatarUrl, quotaAllowance } = fields;
  const most = ctx.config.groupsMaxPerOrganization;
  const values = [
    newId(),
    organization.id,
    name,
    displayName ?? "",
    avatarUrl ?? "",
    quotaAllowance ?? 0,
    most,
    source,
  ];
  const { id, others } = (await ctx.row(insertGroup, ...values))!;
  if (id === null && others >= most)
    throw badInput([
      { field: "name", detail: `The organization already has ${most} groups, which is the most it may have.` },
    ]);
  if (id === null) throw nameTaken();
  const group = { id, name: name!, organizationId: organization.id };
  ctx.audit({ action: "create", ...ofGroup(group), diff: diffOf({}, fields) });
  return id;
}

export interface UpdateGroup extends GroupFields {
  group: string;
  addUsers?: string[] | null;
  removeUsers?: string[] | null;
}

/** Changes a group and its members: first additions, then removals. Any fault rolls back all of it. */
export async function updateGroup(ctx: Context, { group: ref, ...input }: UpdateGroup): Promise<string> {
  const add = input.addUsers ?? [];
  const remove = input.removeUsers ?? [];
  const group = await lockGroup(ctx, ref, "group:update", add.length > mostUsers ? [] : add);
  const problems = new Problems();
  for (const [field, users] of [
    ["addUsers", add],
    ["removeUsers", remove],
  ] as const)
    problems.add(field, users.length > mostUsers ? `Must be at most ${mostUsers} users.` : undefined);
  return changeLockedGroup(ctx, group, { ...input, addUsers: add, removeUsers: remove }, problems);
}

/** `updateGroup` for a group that the caller has locked, and for any number of users. Adds to the given problems. */
export async function changeLockedGroup(
  ctx: Context,
  group: LockedGroup,
  input: Omit<UpdateGroup, "group">,
  problems = new Problems(),
): Promise<string> {
  const add = input.addUsers ?? [];
  const remove = input.removeUsers ?? [];
  requireFeature(ctx, "template_rbac");
  if (isEveryone(group) && add.length + remove.length > 0)
    throw forbidden("Members of the Everyone group are managed by the organization.");

  const diff = diffOf<GroupFields>(group, { ...fieldsOf(input), name: input.name || null });
  const isFew = problems.isEmpty;
  if (isEveryone(group)) addEveryoneProblems(problems, diff);
  else addFieldProblems(problems, newValues(diff));
  const fields = problems.isEmpty ? newValues(diff) : {};
  const { added, removed } = isFew
    ? await change(ctx, group, fields, { add, remove }, problems)
    : { added: [], removed: [] };
  problems.throwIfAny();

  if (added.length + removed.length > 0) diff.members = { old: removed, new: added };
  if (Object.keys(diff).length > 0) ctx.audit({ action: "update", ...ofGroup(group), diff });
  return group.id;
}

const fieldsOf = ({ displayName, avatarUrl, quotaAllowance }: GroupFields): GroupFields => ({
  displayName,
  avatarUrl,
  quotaAllowance,
});

const newValues = (diff: Diff): GroupFields =>
  Object.fromEntries(Object.entries(diff).map(([field, { new: value }]) => [field, value]));

export const quotaAllowanceRule = wholeNumber(0, 2147483647);

function addFieldProblems(problems: Problems, { name, displayName, avatarUrl, quotaAllowance }: GroupFields): void {
  if (name != null) problems.add("name", groupNameProblem(name));
  if (displayName != null) problems.add("displayName", displayNameProblem(displayName));
  if (avatarUrl != null) problems.add("avatarUrl", iconProblem(avatarUrl));
  if (quotaAllowance != null && quotaAllowance < 0) problems.add("quotaAllowance", quotaAllowanceRule);
}

/** Adds the faults of new values. Everyone cannot be renamed. */
function addEveryoneProblems(problems: Problems, diff: Diff): void {
  if (diff.name) problems.add("name", "The Everyone group cannot be renamed.");
  if (diff.displayName?.new) problems.add("displayName", "The Everyone group cannot be renamed.");
  const { avatarUrl, quotaAllowance } = newValues(diff);
  addFieldProblems(problems, { avatarUrl, quotaAllowance });
}

const mostUsers = 1000;

interface Membership {
  add: string[];
  remove: string[];
}

const changeGroup = statement<{ present: string[]; added: string[]; removed: string[] }>(`
  with present as (
    select user_id from group_members where group_id = $1 and user_id = any($3::uuid[])
  ), added as (
    insert into group_members (group_id, organization_id, user_id)
    select $1, $2, user_id from unnest($3::uuid[]) user_id where user_id <> all($4::uuid[])
    on conflict do nothing
    returning user_id
  ), removed as (
    delete from group_members where group_id = $1 and user_id = any($4) returning user_id
  ), changed as (
    update groups set name = coalesce($5, name), display_name = coalesce($6, display_name),
      avatar_url = coalesce($7, avatar_url), quota_allowance = coalesce($8, quota_allowance), updated_at = now()
    where id = $1 and (num_nonnulls($5::text, $6::text, $7::text, $8::int) > 0
      or exists (select from added) or exists (select from removed))
  )
  select array(select user_id from present) as present, array(select user_id from added) as added,
    array(select user_id from removed) as removed`);

/** Writes the change in one statement, then adds the faults of its users, which roll it back. */
async function change(
  ctx: Context,
  { id, organizationId, eligible }: LockedGroup,
  fields: GroupFields,
  users: Membership,
  problems: Problems,
) {
  const { name = null, displayName = null, avatarUrl = null, quotaAllowance = null } = fields;
  const values = [name, displayName, avatarUrl, quotaAllowance];
  const done = await ctx.row(changeGroup, id, organizationId, eligible, users.remove, ...values).catch(nameViolated);
  const [members, present, named] = [new Set(eligible), new Set(done!.present), new Set<string>()];
  for (const [index, user] of users.add.entries()) {
    const field = `addUsers[${index}]`;
    if (named.has(user)) problems.add(field, "Must occur only once.");
    else if (!members.has(user)) problems.add(field, "Must be a member of the organization.");
    else if (present.has(user)) problems.add(field, "Must not be in the group yet.");
    named.add(user);
  }
  return done!;
}

const deleteRow = statement("delete from groups where id = $1");

/** Deletes a group with its memberships and budget. Returns the group before the deletion, with pages of members. */
export async function deleteGroup(ctx: Context, ref: string, members: readonly MembersQuery[]): Promise<GroupRow> {
  const { id } = await lockGroup(ctx, ref, "group:delete");
  const group = await findGroup(ctx, id, members);
  if (isEveryone(group)) throw new DomainError("BAD_USER_INPUT", "The Everyone group cannot be deleted.");
  // Caches the budget for the response.
  await aiBudgetOf(ctx, group);
  await ctx.rows(deleteRow, id);
  const { name, displayName, avatarUrl, quotaAllowance, source } = group;
  const diff = Object.entries({ name, displayName, avatarUrl, quotaAllowance, source }).map(([field, old]) => [
    field,
    { old },
  ]);
  ctx.audit({ action: "delete", ...ofGroup(group), diff: Object.fromEntries(diff) as Diff });
  return group;
}

const nameTaken = () =>
  conflict("A group of this name already exists in the organization.", [
    { field: "name", detail: "Is the name of another group of the organization." },
  ]);

const nameViolated = onViolation({ groups_name_unique: nameTaken });

const ofGroup = ({ id, name, organizationId }: Pick<GroupRow, "id" | "name" | "organizationId">) =>
  auditedAs("group", id, name, organizationId);
