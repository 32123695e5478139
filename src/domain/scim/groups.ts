import { auditedAs, type Diff } from "../audit/audit.js";
import { changeLockedGroup, createGroup, deleteGroup, type UpdateGroup } from "../groups/changes.js";
import { GroupSource, lockGroup, type LockedGroup } from "../groups/groups.js";
import type { Context } from "../kernel/context.js";
import { statement } from "../kernel/database.js";
import { notFound, onViolation } from "../kernel/errors.js";
import { folded, foldedSql } from "../kernel/folding.js";
import { sql } from "../kernel/sql.js";
import { groupNameProblem, isUuid } from "../kernel/text.js";
import { joinOrganization } from "../organizations/joining.js";
import { lockOrganization } from "../organizations/organizations.js";
import { changed } from "./changes.js";
import { type Json, readResource } from "./documents.js";
import type { Values } from "./evaluate.js";
import { fault, notUnique } from "./faults.js";
import { groupColumns, groupFilterColumns, groupId, namesake, type ScimGroupRow, visibleGroups } from "./group-rows.js";
import { type Listed, type ListQuery, listResources } from "./lists.js";
import { MemberChange, memberIds, type MemberRow, membersColumn, memberValues } from "./members.js";
import { readOperations } from "./operations.js";
import { type Provisioner, provisionerOf } from "./provisioner.js";
import { groupType } from "./schema.js";
import { numbered, requireLength, slug } from "./user-mapping.js";
import { requireVersion, type ScimChange } from "./users.js";

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
  };
  return listResources<ScimGroupRow>(ctx, source, query);
}

const longest = { displayName: 256, externalId: 512, shown: 64, name: 36 } as const;

/** Creates a group in the first organization of the caller. Returns its id. */
export async function createScimGroup(ctx: Context, { document }: { document: Json }): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const ref = provisioner.organizationIds ? (provisioner.organizationIds[0] ?? "") : "default";
  // Creations in an organization take turns, so that no two groups get the same displayName.
  const { id: organizationId } = await lockOrganization(ctx, ref, "group:create");
  const names = await newNames(ctx, organizationId, wanted.displayName, null);
  const id = await createGroup(ctx, { organization: organizationId, ...names }, GroupSource.OIDC);
  if (wanted.members.length > 0) {
    const group = await lockWith(ctx, id, wanted.members);
    await changeLockedGroup(ctx, group, { addUsers: wanted.members });
  }
  await link(ctx, provisioner, { id, organizationId }, wanted, wanted.displayName, 0);
  return id;
}

/** Replaces a group and its members (RFC 7644 §3.5.1). */
export async function replaceScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const change = new MemberChange();
  change.isReplaced = true;
  for (const member of wanted.members) change.added.add(member);
  const group = await lockWith(ctx, id, wanted.members);
  const row = await readRow(ctx, provisioner, id);
  requireVersion(row, ifMatch);
  await write(ctx, provisioner, group, row, wanted, change);
  return id;
}

/** Changes a group by operations (RFC 7644 §3.5.2): all of them, or none. */
export async function patchScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<string> {
  const provisioner = provisionerOf(ctx);
  const operations = readOperations(groupType, document);
  const change = new MemberChange();
  const load = async () => memberValues(ctx, (await membersByGroup(ctx, [id]))[0]!);
  for (const operation of operations)
    if (operation.target.attribute.name === "members") await change.apply(operation, load);
  const group = await lockWith(ctx, id, [...change.added]);
  const row = await readRow(ctx, provisioner, id);
  requireVersion(row, ifMatch);
  const others = operations.filter(({ target }) => target.attribute.name !== "members");
  const { externalId, displayName } = row;
  const resource = changed({ displayName, ...(externalId !== null && { externalId }) }, others);
  await write(ctx, provisioner, group, row, wantedGroup(resource), change);
  return id;
}

/** Deletes a group with its memberships. Returns its id. */
export async function deleteScimGroup(
  ctx: Context,
  { id, ifMatch }: { id: string; ifMatch?: string | null },
): Promise<string> {
  const provisioner = provisionerOf(ctx);
  requireVersion(await readRow(ctx, provisioner, id), ifMatch);
  await deleteGroup(ctx, id, []);
  return id;
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

/** Locks a visible group. Users outside of its organization join it. Throws `invalidValue` for unknown users. */
async function lockWith(ctx: Context, id: string, joining: readonly string[]): Promise<LockedGroup> {
  if (!isUuid(id)) throw notFound();
  const group = await lockGroup(ctx, id, "group:update", joining);
  return { ...group, eligible: await withOutsiders(ctx, group, joining) };
}

async function withOutsiders(ctx: Context, group: LockedGroup, joining: readonly string[]): Promise<string[]> {
  const members = new Set(group.eligible);
  const outside = joining.filter((user) => !members.has(user));
  if (outside.length === 0) return group.eligible;
  const known = new Set(await joinOrganization(ctx, group.organizationId, outside));
  const unknown = outside.findIndex((user) => !known.has(user));
  if (unknown >= 0)
    throw fault("invalidValue", "Must be the ID of a user.", `members[${joining.indexOf(outside[unknown]!)}].value`);
  return [...group.eligible, ...outside];
}

const present = statement<{ userId: string }>(`
  select user_id as "userId" from group_members where group_id = $1 and ($2 or user_id = any($3::uuid[]))`);

/** Writes the difference between a group and what it should be. Writes nothing if there is none. */
async function write(
  ctx: Context,
  provisioner: Provisioner,
  group: LockedGroup,
  row: ScimGroupRow,
  wanted: WantedGroup,
  { isReplaced, added, removed }: MemberChange,
): Promise<void> {
  const change: Omit<UpdateGroup, "group"> = {};
  if (isReplaced || added.size + removed.size > 0) {
    const rows = await ctx.rows(present, group.id, isReplaced, [...added, ...removed]);
    const members = new Set(rows.map(({ userId }) => userId));
    change.addUsers = [...added].filter((user) => !members.has(user));
    change.removeUsers = [...members].filter((user) => (isReplaced ? !added.has(user) : removed.has(user)));
  }
  if (wanted.displayName !== row.displayName)
    Object.assign(change, await newNames(ctx, group.organizationId, wanted.displayName, group.id));
  const isChanged = change.name || change.addUsers?.length || change.removeUsers?.length;
  if (isChanged) await changeLockedGroup(ctx, group, change);
  const isLinkChanged = wanted.displayName !== row.displayName || wanted.externalId !== row.externalId;
  if (!isLinkChanged) return;
  const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
  const isKept = isElsewhere && wanted.displayName === row.displayName;
  await link(ctx, provisioner, group, wanted, isKept ? null : wanted.displayName, 1);
  const { externalId, displayName } = row;
  const diff: Diff = {};
  if (wanted.externalId !== externalId) diff.externalId = { old: externalId ?? "", new: wanted.externalId ?? "" };
  if (wanted.displayName !== displayName) diff.scimDisplayName = { old: displayName, new: wanted.displayName };
  ctx.audit({ action: "update", ...auditedAs("group", group.id, group.name, group.organizationId), diff });
}

const takenNames = statement<{ name: string }>(`
  select ${foldedSql("name")} as name from groups
  where organization_id = $1 and id is distinct from $2 and ${foldedSql("name")} = any($3::text[])`);

/** The names of a group for a displayName. Throws CONFLICT if a visible group has it. */
async function newNames(ctx: Context, organizationId: string, displayName: string, id: string | null) {
  const base = slug(displayName, longest.name);
  const names = numbered(groupNameProblem(base) === undefined ? base : "group", longest.name);
  const [[other], taken] = await Promise.all([
    ctx.select(namesake(organizationId, displayName, id)),
    ctx.rows(takenNames, organizationId, id, names.map(folded)),
  ]);
  if (other) throw notUnique("displayName");
  const used = new Set(taken.map(({ name }) => name));
  const free = names.find((name) => !used.has(folded(name)));
  if (!free) throw fault("invalidValue", "Too many groups have a similar displayName.", "displayName");
  return { name: free, displayName: Array.from(displayName.trim()).slice(0, longest.shown).join("").trim() };
}

const putLink = statement(`
  with linked as (
    insert into scim_group_links (source, group_id, organization_id, external_id, display_name)
    values ($1, $2, $3, $4, $5)
    on conflict (source, group_id) do update set external_id = excluded.external_id, display_name = excluded.display_name
    returning group_id
  )
  update groups set external_id = $4, scim_version = scim_version + $6, updated_at = now()
  from linked where id = linked.group_id`);

/** Writes the link of the source to a group. `displayName` is null if the link of another source has it. */
const link = (
  ctx: Context,
  { source }: Provisioner,
  { id, organizationId }: Pick<LockedGroup, "id" | "organizationId">,
  { externalId }: WantedGroup,
  displayName: string | null,
  raised: number,
) =>
  ctx.rows(putLink, source, id, organizationId, externalId, displayName, raised).catch(
    onViolation({
      scim_group_links_external_id_unique: () => notUnique("externalId"),
      scim_group_links_display_name_unique: () => notUnique("displayName"),
    }),
  );
