import { Group } from "../../entities/groups.js";
import type { Context } from "../kernel/context.js";
import { newId } from "../kernel/ids.js";
import { auditedAs, auditingMore, type Diff, diffOf } from "../audit/audit.js";
import { auditChangesOf } from "../audit/changes.js";
import { requireFeature } from "../entitlements/requirements.js";
import { badInput, conflict, DomainError, forbidden, Problems, onViolation } from "../kernel/errors.js";
import { lockOrganization, type OrganizationRow } from "../organizations/organizations.js";
import { empty, type Sql, sql } from "../kernel/sql.js";
import { displayNameProblem, groupNameProblem, iconProblem, wholeNumber } from "../kernel/text.js";
import { findGroup, type GroupRow, GroupSource, isEveryone, lockGroup, type LockedGroup } from "./groups.js";
import { groupsHint } from "./memberships.js";

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

/** What an identity provider knows about a group, written in the statement that writes the group. */
export interface GroupLink {
  externalId: string | null;
  /** How it changes, for the audit log. */
  diff: Diff;
  /** Common table expressions, which read the row of the group as `written`. */
  tables: Sql;
}

/** The group after the write. */
export interface WrittenGroup {
  id: string;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** Creates a group without members. Returns its id. */
export async function createGroup(ctx: Context, { organization: ref, ...fields }: CreateGroup): Promise<string> {
  const organization = await lockOrganization(ctx, ref, "group:create");
  return (await addGroup(ctx, organization, fields)).id;
}

/** A group that an identity provider creates. `members` are members of the organization. */
interface ProvisionedGroup {
  members: readonly string[];
  link: GroupLink;
}

/** `createGroup` in an organization that the caller has locked. */
export async function addGroup(
  ctx: Context,
  { id: organizationId }: Pick<OrganizationRow, "id">,
  fields: GroupFields,
  provisioned?: ProvisionedGroup,
): Promise<WrittenGroup> {
  requireFeature(ctx, "template_rbac");
  const problems = new Problems();
  if (fields.name == null) problems.add("name", "Is required.");
  addFieldProblems(problems, fields);
  problems.throwIfAny();

  const { name, displayName, avatarUrl, quotaAllowance } = fields;
  const most = ctx.config.groupsMaxPerOrganization;
  const source = provisioned ? GroupSource.OIDC : GroupSource.USER;
  const { link, members = [] } = provisioned ?? {};
  const id = newId();
  const diff = diffOf<GroupFields & { members: readonly string[] }>({ members: [] }, { ...fields, members });
  ctx.audit({ action: "create", ...ofGroup({ id, name: name!, organizationId }), diff });
  const [row] = await ctx.select<WrittenGroup & { others: number }>(sql`
    with others as (
      select count(*) as number from groups where organization_id = ${organizationId} and id <> ${organizationId}
    ), written as (
      insert into groups (id, organization_id, name, display_name, avatar_url, quota_allowance, source, external_id,
        created_at, updated_at)
      select ${id}, ${organizationId}, ${name}, ${displayName ?? ""}, ${avatarUrl ?? ""},
        ${quotaAllowance ?? 0}::int, ${source}, ${link?.externalId ?? null}::text, now(), now()
      from others where number < ${most}::int
      on conflict on constraint groups_name_unique do nothing
      returning *
    )${members.length > 0 ? sql`, ${addingMembers(members)}` : empty}${link ? sql`, ${link.tables}` : empty}${ctx.lastTables()}
    select written.id, written.created_at as "createdAt", written.updated_at as "updatedAt",
      written.scim_version as version, number as others
    from others left join written on true`);
  const { others, ...written } = row!;
  if (written.id === null && others >= most)
    throw badInput([
      { field: "name", detail: `The organization already has ${most} groups, which is the most it may have.` },
    ]);
  if (written.id === null) throw nameTaken();
  return { ...written, version: written.version + (members.length > 0 ? 1 : 0) };
}

/** Common table expression that adds members to the `written` group, which a trigger counts and raises the version for. */
const addingMembers = (members: readonly string[]): Sql => sql`
  added as (
    insert into group_members (group_id, organization_id, user_id)
    select written.id, written.organization_id, user_id from written, unnest(${members}::uuid[]) user_id)`;

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
  await changeLockedGroup(ctx, group, { ...input, addUsers: add, removeUsers: remove }, problems);
  return group.id;
}

/** How an identity provider changes a group. Added users may be members already, and removed ones may not be. */
export interface Provisioning {
  /** Whether members leave that are not added. */
  isReplaced: boolean;
  link?: GroupLink;
}

/** What a change did to a group; without the times and the version, if it did nothing. */
interface Change extends Partial<Pick<WrittenGroup, "updatedAt" | "version">> {
  present: string[];
  hasAdded: boolean;
  removed: string[];
}

/** `updateGroup` for a group that the caller has locked, and for any number of users. Adds to the given problems. */
export async function changeLockedGroup(
  ctx: Context,
  group: LockedGroup,
  input: Omit<UpdateGroup, "group">,
  problems = new Problems(),
  provisioning?: Provisioning,
): Promise<Change> {
  const add = input.addUsers ?? [];
  const remove = input.removeUsers ?? [];
  requireFeature(ctx, "template_rbac");
  if (isEveryone(group) && add.length + remove.length > 0)
    throw forbidden("Members of the Everyone group are managed by the organization.");

  const diff = diffOf<GroupFields>(group, { ...fieldsOf(input), name: input.name || null });
  const isFew = problems.isEmpty;
  if (isEveryone(group)) addEveryoneProblems(problems, diff);
  else addFieldProblems(problems, newValues(diff));
  const valid = problems.isEmpty ? diff : {};
  const done = isFew
    ? await change(ctx, group, valid, { add, remove }, provisioning)
    : { present: [], hasAdded: false, removed: [] };
  if (isFew && !provisioning) addMemberProblems(problems, group, add, done);
  problems.throwIfAny();
  return done;
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

/** Writes the change and its records in one statement. Faults of its users roll it back later. */
async function change(
  ctx: Context,
  group: LockedGroup,
  diff: Diff,
  { add, remove }: Membership,
  { isReplaced, link }: Provisioning = { isReplaced: false },
): Promise<Change> {
  const { id, organizationId, eligible } = group;
  const { name = null, displayName = null, avatarUrl = null, quotaAllowance = null } = newValues(diff);
  const entry = { action: "update", ...ofGroup(group) } as const;
  if (link && Object.keys(link.diff).length > 0) ctx.audit({ ...entry, diff: link.diff });
  const isChanged =
    link !== undefined || [name, displayName, avatarUrl, quotaAllowance].some((value) => value !== null);
  const leaves = isReplaced ? sql`user_id <> all(${add}::uuid[])` : sql`user_id = any(${remove}::uuid[])`;
  const [done] = await ctx
    .select<Change>(sql`
      with present as (
        select user_id from group_members where group_id = ${id} and user_id = any(${eligible}::uuid[])
      ), added as (
        insert into group_members (group_id, organization_id, user_id)
        select ${id}, ${organizationId}, user_id from unnest(${eligible}::uuid[]) user_id
        where user_id <> all(${remove}::uuid[])
        on conflict do nothing
        returning user_id
      ), removed as (
        delete from group_members where group_id = ${id} and ${leaves} returning user_id
      ), written as (
        update groups set name = coalesce(${name}, name), display_name = coalesce(${displayName}, display_name),
          avatar_url = coalesce(${avatarUrl}, avatar_url),
          quota_allowance = coalesce(${quotaAllowance}::int, quota_allowance), updated_at = now()
          ${link ? sql`, external_id = ${link.externalId}, scim_version = scim_version + 1` : sql``}
        where id = ${id} and (${isChanged}::bool
          or exists (select from added) or exists (select from removed))
        returning *
      ), ${auditingMore(ctx, { ...entry, diff }, membersDiff)}${link ? sql`, ${link.tables}` : empty}${ctx.lastTables()}
      select array(select user_id from present) as present, exists(select from added) as "hasAdded",
        array(select user_id from removed) as removed, (select updated_at from written) as "updatedAt",
        (select scim_version from written) as version`)
    .catch(nameViolated);
  ctx.publish(...done!.removed.map(groupsHint));
  return done!;
}

/** What the statement of `change` changes in the members, for the audit log; null for nothing. */
const membersDiff = sql`(
  select jsonb_build_object('members', jsonb_build_object('old', old, 'new', new))
  from (select array(select user_id from removed) as old, array(select user_id from added) as new) m
  where cardinality(old) + cardinality(new) > 0)`;

/** Adds the faults of added users. */
function addMemberProblems(
  problems: Problems,
  { eligible }: LockedGroup,
  add: readonly string[],
  done: Pick<Change, "present">,
): void {
  const [members, present, named] = [new Set(eligible), new Set(done.present), new Set<string>()];
  for (const [index, user] of add.entries()) {
    const field = `addUsers[${index}]`;
    if (named.has(user)) problems.add(field, "Must occur only once.");
    else if (!members.has(user)) problems.add(field, "Must be a member of the organization.");
    else if (present.has(user)) problems.add(field, "Must not be in the group yet.");
    named.add(user);
  }
}

/** Deletes a group with its memberships and budget. Returns the group before the deletion. */
export async function deleteGroup(ctx: Context, ref: string): Promise<GroupRow> {
  const { id } = await lockGroup(ctx, ref, "group:delete");
  const group = await findGroup(ctx, id);
  if (isEveryone(group)) throw new DomainError("BAD_USER_INPUT", "The Everyone group cannot be deleted.");
  await deleteLockedGroup(ctx, group);
  return group;
}

/** Deletes a group that the caller has locked, with the commit: until then, its members and its budget can be read. */
export async function deleteLockedGroup(ctx: Context, group: GroupRow): Promise<void> {
  const members = await ctx.db.selectFrom("groupMembers").select("userId").where("groupId", "=", group.id).execute();
  ctx.publish(...members.map(({ userId }) => groupsHint(userId)));
  ctx.em.remove(await ctx.em.findOneOrFail(Group, group.id));
}

auditChangesOf(Group, {
  resource: ({ id, name, organization }) => auditedAs("group", id, name, organization.id),
  fields: ["name", "displayName", "avatarUrl", "quotaAllowance", "source"],
});

const nameTaken = () =>
  conflict("A group of this name already exists in the organization.", [
    { field: "name", detail: "Is the name of another group of the organization." },
  ]);

const nameViolated = onViolation({ groups_name_unique: nameTaken });

const ofGroup = ({ id, name, organizationId }: Pick<GroupRow, "id" | "name" | "organizationId">) =>
  auditedAs("group", id, name, organizationId);
