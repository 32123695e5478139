import { addGroup, changeLockedGroup, deleteLockedGroup } from "../groups/changes.js";
import { isEveryone, lockGroup, type LockedGroup } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { folded } from "../kernel/folding.js";
import { empty, type Sql, sql } from "../kernel/sql.js";
import { isUuid } from "../kernel/text.js";
import { joinOrganization } from "../organizations/joining.js";
import { lockOrganization } from "../organizations/organizations.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { fault, notUnique } from "./faults.js";
import { asUniqueness, linkDiff, linking } from "./group-links.js";
import { type Names, namesColumn, namesFor } from "./group-names.js";
import { groupColumns, groupFilterColumns, groupId, type ScimGroupRow, visibleGroups } from "./group-rows.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import { asMembers, MemberChange, memberIds, type MemberRow, membersColumn, memberValues } from "./members.js";
import { readOperations } from "./operations.js";
import { isVisibleGroup, type Provisioner, provisionerOf } from "./provisioner.js";
import { groupType } from "./schema.js";
import { requireLength } from "./user-mapping.js";
import { requireVersion } from "./user-state.js";
import type { ScimChange } from "./users.js";

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
    sql`select g.id, ${membersColumn} as members from groups g where g.id = any(${ids}::uuid[])`,
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
  ) as eligible, ${asMembers(members)} as shown`;
  // Creations in an organization take turns, so that no two groups get the same displayName.
  const organization = await lockOrganization<Names & { eligible: string[]; shown: MemberRow[] }>(
    ctx,
    ref,
    "group:create",
    more,
  );
  const { id: organizationId, eligible, shown } = organization;
  const names = namesFor(displayName, organization.names);
  await withOutsiders(ctx, { organizationId, eligible }, members);
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
  const change = new MemberChange();
  const load = async () => memberValues(ctx, (await membersByGroup(ctx, [id]))[0]!);
  for (const operation of operations)
    if (operation.target.attribute.name === "members") await change.apply(operation, load);
  const others = operations.filter(({ target }) => target.attribute.name !== "members");
  const { displayName: named } = changed({}, others) as { displayName?: string };
  const locked = await lockedGroup(ctx, provisioner, { id, ifMatch, joining: [...change.added], displayName: named });
  const { externalId, displayName } = locked.row;
  const resource = changed({ displayName, ...(externalId !== null && { externalId }) }, others);
  return write(ctx, provisioner, locked, wantedGroup(resource), change);
}

/** Deletes a group with its memberships. Returns its id. */
export async function deleteScimGroup(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const { group } = await lockedGroup(ctx, provisionerOf(ctx), { id, ifMatch }, "group:delete");
  await deleteLockedGroup(ctx, group);
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
  group: LockedGroup & Partial<Names> & More;
  row: ScimGroupRow;
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
 * Locks a visible group. Users outside of its organization join it. Throws `invalidValue` for unknown users, and if the
 * version of the group is none of `ifMatch`.
 */
async function lockedGroup<More = object>(
  ctx: Context,
  { source }: Provisioner,
  { id, ifMatch, joining = [], displayName, more = empty }: Wanting,
  permission: "group:update" | "group:delete" = "group:update",
): Promise<Locked<More>> {
  if (!isUuid(id)) throw notFound();
  const names = displayName ? sql`, ${namesColumn(sql`locked."organizationId"`, displayName, id)}` : empty;
  const now = sql`scim_group_now(locked.id) as scim${names}${more}`;
  const { scim, ...group } = await lockGroup<{ scim: Now } & Partial<Names> & More>(ctx, id, permission, joining, now);
  if (isEveryone(group)) throw notFound();
  const named = scim.links.find((link) => link.displayName !== null);
  const { createdAt, updatedAt, organizationId } = group;
  const row = {
    id: group.id,
    createdAt,
    updatedAt,
    organizationId,
    version: scim.version,
    externalId: scim.links.find((link) => link.source === source)?.externalId ?? null,
    displayName: named?.displayName ?? (group.displayName || group.name),
    nameSource: named?.source ?? null,
  };
  requireVersion(row, ifMatch);
  return { group: { ...group, eligible: await withOutsiders(ctx, group, joining) }, row } as Locked<More>;
}

/** Users outside of the organization of a group join it. Returns the ids of all. */
async function withOutsiders(
  ctx: Context,
  group: Pick<LockedGroup, "organizationId" | "eligible">,
  joining: readonly string[],
): Promise<string[]> {
  const members = new Set(group.eligible);
  const outside = joining.filter((user) => !members.has(user));
  if (outside.length === 0) return group.eligible;
  const known = new Set(await joinOrganization(ctx, group.organizationId, outside));
  const unknown = outside.findIndex((user) => !known.has(user));
  if (unknown >= 0)
    throw fault("invalidValue", "Must be the ID of a user.", `members[${joining.indexOf(outside[unknown]!)}].value`);
  return [...group.eligible, ...outside];
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
  const names = isRenamed ? namesFor(wanted.displayName, group.names!) : {};
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  const ownName = isElsewhere && !isRenamed ? null : wanted.displayName;
  const link = isLinkChanged ? linking(provisioner, wanted, ownName, linkDiff(row, wanted)) : undefined;
  const change = { ...names, addUsers: [...add], removeUsers: [...removed] };
  const done = await changeLockedGroup(ctx, group, change, undefined, { isReplaced, ...(link && { link }) }).catch(
    asUniqueness,
  );
  if (done.version == null) return { row };
  // Triggers count additions and removals of members after the statement, and raise the version for each.
  const version = done.version + (done.hasAdded ? 1 : 0) + (done.removed.length > 0 ? 1 : 0);
  const { externalId, displayName } = wanted;
  const columns = isLinkChanged
    ? { externalId, displayName, nameSource: ownName ? provisioner.source : row.nameSource }
    : {};
  return { row: { ...row, ...columns, updatedAt: done.updatedAt ?? row.updatedAt, version } };
}
