import { addGroup, changeLockedGroup, deleteLockedGroup } from "../groups/changes.js";
import { isEveryone, lockGroup, type LockedGroup } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { empty, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { joinOrganization } from "../organizations/members.js";
import { lockOrganizationWith } from "../organizations/organizations.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { fault, notUnique } from "./faults.js";
import { asUniqueness, linkDiff, linking } from "./group-links.js";
import { type Names, namesColumn, namesFor } from "./group-names.js";
import { groupColumns, groupFilterColumns, groupId, type ScimGroupRow, visibleGroups } from "./group-rows.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import {
  addedBy,
  asMembers,
  goneOf,
  type LoadMembers,
  MemberChange,
  memberIds,
  type MemberRow,
  membersColumn,
  memberValues,
} from "./members.js";
import { type Operation, readOperations } from "./operations.js";
import { isVisibleGroup, type Provisioner, provisionerOf } from "./provisioner.js";
import { groupType } from "./schema.js";
import { requireLength } from "./user-mapping.js";
import type { ScimChange } from "./users.js";
import { requireVersion } from "./versions.js";

async function readRow(ctx: Context, provisioner: Provisioner, id: string): Promise<ScimGroupRow> {
  const isIt = sql`g.id = ${id}`;
  const [row] = isUuid(id)
    ? await ctx.select<ScimGroupRow>(sql`select ${groupColumns} ${visibleGroups(ctx, provisioner, isIt)}`)
    : [];
  if (!row) throw notFound();
  return row;
}

/** Reads a group. Throws NOT_FOUND for groups of other organizations, and for Everyone. */
export const readScimGroup = (ctx: Context, id: string): Promise<ScimGroupRow> => readRow(ctx, provisionerOf(ctx), id);

/** Batch read of the members of groups that the caller sees, for `ctx.load`. */
export async function membersByGroup(ctx: Context, ids: readonly string[]): Promise<MemberRow[][]> {
  const rows = await ctx.select<{ id: string; members: MemberRow[] }>(
    sql`select g.id, ${membersColumn(provisionerOf(ctx))} as members from groups g where g.id = any(${ids}::uuid[])`,
  );
  const members = new Map(rows.map((row) => [row.id, row.members]));
  return ids.map((id) => members.get(id) ?? []);
}

/** Lists groups. */
export function listScimGroups(ctx: Context, query: ListQuery): Promise<Listed<ScimGroupRow>> {
  const provisioner = provisionerOf(ctx);
  const source = {
    type: groupType,
    source: provisioner.source,
    columns: groupFilterColumns(ctx, provisioner),
    selected: groupColumns,
    from: (condition: ReturnType<typeof sql>) => visibleGroups(ctx, provisioner, condition),
    id: groupId,
    total: sql`select count(*) from groups g where ${isVisibleGroup(ctx)}`,
  };
  return listResources<ScimGroupRow>(ctx, source, query);
}

const longest = { displayName: 256, externalId: 512 } as const;

/** A group as SCIM clients of a source see it, and its members where they are known. */
export interface ScimGroup {
  row: ScimGroupRow;
  members?: readonly MemberRow[];
}

/** Creates a group in the first organization of the caller. */
export async function createScimGroup(ctx: Context, { document }: { document: Json }): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const ref = provisioner.organizationIds ? (provisioner.organizationIds[0] ?? "") : "default";
  const { members, externalId, displayName } = wanted;
  const more = sql`${namesColumn(sql`locked.id`, displayName, null)}, array(
    select m.user_id from organization_members m
    where m.organization_id = locked.id and m.user_id = any(${members}::uuid[]) order by m.user_id for key share
  ) as eligible, ${goneOf(provisioner, members)} as gone, ${asMembers(members)} as shown`;
  // Creations in an organization take turns, so that no two groups get the same displayName.
  const organization = await lockOrganizationWith<Names & Pick<Joining, "eligible" | "gone"> & { shown: MemberRow[] }>(
    ctx,
    ref,
    "group:create",
    more,
  );
  const { id: organizationId, eligible, gone, shown } = organization;
  const names = namesFor(displayName, organization.names);
  await withOutsiders(ctx, { organizationId, eligible, gone }, members);
  const link = linking(provisioner, wanted, displayName, {});
  const { id, ...times } = await addGroup(ctx, organization, names, { members, link }).catch(asUniqueness);
  const columns = { organizationId, externalId, displayName, nameSource: provisioner.source };
  return { row: { id, ...times, ...columns }, members: shown };
}

function added(members: readonly string[]): MemberChange {
  const change = new MemberChange();
  for (const member of members) change.added.add(member);
  return change;
}

/** Replaces a group and its members (RFC 7644 §3.5.1). */
export async function replaceScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const change = added(wanted.members);
  change.isReplaced = true;
  const { members: joining, displayName } = wanted;
  const more = sql`, ${asMembers(joining)} as shown`;
  const locked = await lockedGroup<{ shown: MemberRow[] }>(ctx, provisioner, {
    id,
    ifMatch,
    joining,
    displayName,
    more,
  });
  return { ...(await write(ctx, provisioner, locked, wanted, change)), members: locked.group.shown };
}

/** Changes a group by operations (RFC 7644 §3.5.2): all of them, or none. */
export async function patchScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const operations = readOperations(groupType, document);
  const [onMembers, others] = [operations.filter(isOnMembers), operations.filter((each) => !isOnMembers(each))];
  const { displayName: named } = changed({}, others) as { displayName?: string };
  const joining = [...new Set(onMembers.flatMap(addedBy))];
  const locked = await lockedGroup(ctx, provisioner, { id, ifMatch, joining, displayName: named });
  const change = new MemberChange();
  for (const operation of onMembers) await change.apply(operation, (users) => loadMembers(ctx, id, users));
  const { externalId, displayName } = locked.row;
  const resource = changed({ displayName, ...(externalId !== null && { externalId }) }, others);
  return write(ctx, provisioner, locked, wantedGroup(resource), change);
}

/** Whether an operation is one on the members. */
const isOnMembers = ({ target }: Operation): boolean => target.attribute.name === "members";

/** Reads the members of a locked group, and users who are to join it. */
async function loadMembers(ctx: Context, group: string, joining: readonly string[]): ReturnType<LoadMembers> {
  const [stored] = await membersByGroup(ctx, [group]);
  const [row] = await ctx.select<{ shown: MemberRow[] }>(sql`select ${asMembers(joining)} as shown`);
  return { stored: memberValues(ctx, stored!), added: memberValues(ctx, row!.shown) };
}

/** Deletes a group with its memberships. Returns its id. */
export async function deleteScimGroup(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const { group } = await lockedGroup(ctx, provisionerOf(ctx), { id, ifMatch }, "group:delete");
  await deleteLockedGroup(ctx, group);
  await ctx.em.flush();
  return group.id;
}

interface WantedGroup {
  externalId: string | null;
  displayName: string;
  members: string[];
}

/** Checks a whole group. Throws `invalidValue`. */
function wantedGroup({ externalId = null, displayName = "", members }: Values): WantedGroup {
  const name = displayName as string;
  if (name === "") throw fault("invalidValue", "Is required.", "displayName");
  requireLength("displayName", name, longest.displayName);
  if (externalId !== null) requireLength("externalId", externalId as string, longest.externalId);
  if (folded(name) === "everyone") throw notUnique("displayName");
  return { externalId: externalId as string | null, displayName: name, members: memberIds(members) };
}

interface Locked<More = object> {
  /** With the name for the displayName that the change will give the group, and further columns. */
  group: LockedGroup & Joining & Partial<Names> & More;
  row: ScimGroupRow;
}

/** Users who are to be in a group, by what they are. */
interface Joining {
  organizationId: string;
  /** Those in the organization of the group. */
  eligible: string[];
  /** Those that the source has deleted. */
  gone: string[];
}

/** Who changes a group, and how. */
interface Wanting {
  id: string;
  ifMatch?: string | null | undefined;
  joining?: readonly string[];
  displayName?: string | undefined;
  /** Further columns, each with a comma before it. */
  more?: Sql;
}

/** What `scim_group_now` returns. */
interface Now {
  version: number;
  links: Array<{ source: string; externalId: string | null; displayName: string | null }>;
}

/**
 * Locks a visible group, and the memberships in its organization of users who may join it. Throws if the version of the
 * group is none of `ifMatch`.
 */
async function lockedGroup<More = object>(
  ctx: Context,
  provisioner: Provisioner,
  { id, ifMatch, joining = [], displayName, more = empty }: Wanting,
  permission: "group:update" | "group:delete" = "group:update",
): Promise<Locked<More>> {
  if (!isUuid(id)) throw notFound();
  const names = displayName ? sql`, ${namesColumn(sql`locked."organizationId"`, displayName, id)}` : empty;
  const now = sql`scim_group_now(locked.id) as scim, ${goneOf(provisioner, joining)} as gone${names}${more}`;
  type Found = { scim: Now; gone: string[] } & Partial<Names> & More;
  const { scim, ...group } = await lockGroup<Found>(ctx, id, permission, joining, now);
  if (isEveryone(group)) throw notFound();
  const named = scim.links.find((link) => link.displayName !== null);
  const { createdAt, updatedAt, organizationId } = group;
  const row = {
    id: group.id,
    createdAt,
    updatedAt,
    organizationId,
    version: scim.version,
    externalId: scim.links.find((link) => link.source === provisioner.source)?.externalId ?? null,
    displayName: named?.displayName ?? (group.displayName || group.name),
    nameSource: named?.source ?? null,
  };
  requireVersion(row, ifMatch);
  return { group, row } as unknown as Locked<More>;
}

/** Lets users outside of the organization of a group join it. Throws `invalidValue` for users that are not known. */
async function withOutsiders(
  ctx: Context,
  { organizationId, eligible, gone }: Joining,
  joining: readonly string[],
): Promise<void> {
  const known = new Set(eligible);
  const outside = joining.filter((user) => !known.has(user) && !gone.includes(user));
  if (outside.length > 0) for (const user of await joinOrganization(ctx, organizationId, outside)) known.add(user);
  const unknown = joining.findIndex((user) => !known.has(user) || gone.includes(user));
  if (unknown >= 0) throw fault("invalidValue", "Must be the ID of a user.", `members[${unknown}].value`);
}

/** Writes the difference between a group and what it should be. Writes nothing if there is none. */
async function write(
  ctx: Context,
  provisioner: Provisioner,
  { group, row }: Locked,
  wanted: WantedGroup,
  { isReplaced, added: add, removed }: MemberChange,
): Promise<ScimGroup> {
  const isRenamed = wanted.displayName !== row.displayName;
  const isLinkChanged = isRenamed || wanted.externalId !== row.externalId;
  if (!isLinkChanged && !isReplaced && add.size + removed.size === 0) return { row };
  const joining = [...add];
  await withOutsiders(ctx, group, joining);
  const names = isRenamed ? namesFor(wanted.displayName, group.names!) : {};
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  const ownName = isElsewhere && !isRenamed ? null : wanted.displayName;
  const link = isLinkChanged ? linking(provisioner, wanted, ownName, linkDiff(row, wanted)) : undefined;
  const change = { ...names, addUsers: joining, removeUsers: [...removed] };
  const provisioning = { isReplaced, ...(link && { link }) };
  const target = { ...group, eligible: joining };
  const done = await changeLockedGroup(ctx, target, change, undefined, provisioning).catch(asUniqueness);
  if (done.version == null) return { row };
  // Triggers count additions and removals of members after the statement, and raise the version for each.
  const version = done.version + (done.hasAdded ? 1 : 0) + (done.removed.length > 0 ? 1 : 0);
  const { externalId, displayName } = wanted;
  const columns = isLinkChanged
    ? { externalId, displayName, nameSource: ownName ? provisioner.source : row.nameSource }
    : {};
  return { row: { ...row, ...columns, updatedAt: done.updatedAt ?? row.updatedAt, version } };
}
