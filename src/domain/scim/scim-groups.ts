import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { addGroup, changeGroup, deleteLockedGroup } from "../groups/group-changes.js";
import { GroupSource, lockGroup, type LockedGroup } from "../groups/groups.js";
import { lockMembers } from "../groups/memberships.js";
import type { Context } from "../kernel/context.js";
import { notFound } from "../kernel/errors.js";
import { isUuid } from "../../runtime/text.js";
import { joinOrganization } from "../organizations/organization-members.js";
import { lockOrganization } from "../organizations/organizations.js";
import { auditedAs } from "../kernel/audit.js";
import { applyOperations } from "./apply-patch.js";
import { readResource } from "./scim-documents.js";
import type { Values } from "./evaluate.js";
import { fault } from "./faults.js";
import { linkDiff, namesFor, writeLink } from "./group-links.js";
import { groupFilterColumns, readGroupRow, type ScimGroupRow, visibleGroups } from "./group-rows.js";
import { type Listed, type ListQuery, listResources } from "./scim-lists.js";
import { addedBy, goneOf, loadMembers, MemberChange, memberIds } from "./scim-members.js";
import { type Operation, readOperations } from "./patch-operations.js";
import { type Provisioner, provisionerOf } from "./provisioner.js";
import { groupType } from "./schema.js";
import { requireLength } from "./user-mapping.js";
import type { ScimChange, ScimCreation, ScimDeletion } from "./scim-users.js";
import { requireVersion } from "./etags.js";
import { scimLengths } from "../../entities/scim.js";

/** Reads a group. Throws NOT_FOUND for groups of other organizations, and for Everyone. */
export const readScimGroup = (ctx: Context, id: string): Promise<ScimGroupRow> =>
  readGroupRow(ctx, provisionerOf(ctx), id);

/** Lists groups. */
export function listScimGroups(ctx: Context, query: ListQuery): Promise<Listed<ScimGroupRow>> {
  const provisioner = provisionerOf(ctx);
  const list = {
    type: groupType,
    source: provisioner.source,
    columns: groupFilterColumns(ctx, provisioner),
    id: sql<string>`g.id`,
    rows: (db: Db) => visibleGroups(ctx, db, provisioner),
  };
  return listResources(ctx, list, query);
}

/** Creates a group in the first organization of the caller. */
export async function createScimGroup(ctx: Context, { document }: ScimCreation): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const { members, displayName } = wanted;
  const ref = provisioner.organizationIds ? (provisioner.organizationIds[0] ?? "") : "default";
  // Creations in an organization take turns, so that no two groups get the same displayName.
  const { id: organizationId } = await lockOrganization(ctx, ref, "group:create");
  const names = await namesFor(ctx, organizationId, displayName, null);
  const eligible = await lockMembers(ctx, organizationId, members);
  await requireMembers(ctx, provisioner, { organizationId, eligible }, members);
  const id = await addGroup(ctx, organizationId, names, { source: GroupSource.OIDC, members });
  await writeLink(ctx, provisioner, { id, organizationId }, wanted);
  return { row: await readGroupRow(ctx, provisioner, id) };
}

/** A group as SCIM clients of a source see it. */
export interface ScimGroup {
  row: ScimGroupRow;
}

function addMembers(members: readonly string[]): MemberChange {
  const change = new MemberChange();
  for (const member of members) change.added.add(member);
  return change;
}

/** Replaces a group and its members (RFC 7644 §3.5.1). */
export async function replaceScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const wanted = wantedGroup(readResource(groupType, document));
  const change = addMembers(wanted.members);
  change.isReplaced = true;
  const locked = await lockedGroup(ctx, provisioner, { id, ifMatch, joining: wanted.members });
  return write(ctx, provisioner, locked, wanted, change);
}

/** Changes a group by operations (RFC 7644 §3.5.2): all of them, or none. */
export async function patchScimGroup(ctx: Context, { id, document, ifMatch }: ScimChange): Promise<ScimGroup> {
  const provisioner = provisionerOf(ctx);
  const operations = readOperations(groupType, document);
  const onMembers = operations.filter(isOnMembers);
  const others = operations.filter((each) => !isOnMembers(each));
  const joining = [...new Set(onMembers.flatMap(addedBy))];
  const locked = await lockedGroup(ctx, provisioner, { id, ifMatch, joining });
  const change = new MemberChange();
  for (const operation of onMembers) await change.apply(operation, (users) => loadMembers(ctx, id, users));
  const { externalId, displayName } = locked.row;
  const resource = applyOperations({ displayName, ...(externalId !== null && { externalId }) }, others);
  return write(ctx, provisioner, locked, wantedGroup(resource), change);
}

/** Whether an operation is one on the members. */
const isOnMembers = ({ target }: Operation): boolean => target.attribute.name === "members";

/** Deletes a group with its memberships. Returns its id. */
export async function deleteScimGroup(ctx: Context, { id, ifMatch }: ScimDeletion): Promise<string> {
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
  requireLength("displayName", name, scimLengths.displayName);
  if (externalId !== null) requireLength("externalId", externalId as string, scimLengths.externalId);
  return { externalId: externalId as string | null, displayName: name, members: memberIds(members) };
}

interface Locked {
  group: LockedGroup;
  row: ScimGroupRow;
}

/**
 * Locks a visible group, and the memberships in its organization of users who may join it. Throws if the version of the
 * group is none of `ifMatch`.
 */
async function lockedGroup(
  ctx: Context,
  provisioner: Provisioner,
  { id, ifMatch, joining }: { id: string; ifMatch?: string | null | undefined; joining?: readonly string[] },
  permission: "group:update" | "group:delete" = "group:update",
): Promise<Locked> {
  if (!isUuid(id)) throw notFound();
  const group = await lockGroup(ctx, id, permission, joining);
  const row = await readGroupRow(ctx, provisioner, id);
  requireVersion(row, ifMatch);
  return { group, row };
}

/**
 * Lets users who are to be in a group join its organization, of which the `eligible` ones are members. Throws
 * `invalidValue` for users that are not known, or that the source has deleted.
 */
async function requireMembers(
  ctx: Context,
  provisioner: Provisioner,
  { organizationId, eligible }: Pick<LockedGroup, "organizationId" | "eligible">,
  joining: readonly string[],
): Promise<void> {
  const gone = new Set(await goneOf(ctx, provisioner, joining));
  const known = new Set(eligible);
  const outside = joining.filter((user) => !known.has(user) && !gone.has(user));
  if (outside.length > 0) for (const user of await joinOrganization(ctx, organizationId, outside)) known.add(user);
  const unknown = joining.findIndex((user) => !known.has(user) || gone.has(user));
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
  await requireMembers(ctx, provisioner, group, joining);
  const names = isRenamed ? await namesFor(ctx, group.organizationId, wanted.displayName, group.id) : {};
  if (isLinkChanged) {
    const isElsewhere = row.nameSource !== null && row.nameSource !== provisioner.source;
    const displayName = isElsewhere && !isRenamed ? null : wanted.displayName;
    await writeLink(ctx, provisioner, group, { ...wanted, displayName });
    const audited = auditedAs("group", group.id, group.name, group.organizationId);
    ctx.audit({ action: "update", ...audited, diff: linkDiff(row, wanted) });
  }
  await changeGroup(ctx, group, names, { add: joining, remove: [...removed], isReplaced });
  return { row: await readGroupRow(ctx, provisioner, group.id) };
}
