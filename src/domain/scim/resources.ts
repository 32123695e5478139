import type { Context } from "../kernel/context.js";
import { type UserRow, usersById } from "../users/users.js";
import type { Values } from "./evaluate.js";
import { fault } from "./faults.js";
import { parseFilter } from "./filter.js";
import { groupResource } from "./group-rows.js";
import { listScimGroups, type ScimGroup } from "./scim-groups.js";
import { membersByGroup } from "./scim-members.js";
import type { Listed, ListQuery } from "./scim-lists.js";
import { listResponse } from "./scim-messages.js";
import { isSelective, names, project, type Projection } from "./projection.js";
import { groupType, type ResourceType, userType } from "./schema.js";
import { locationOf, userResource } from "./user-rows.js";
import { listScimUsers, type ScimUser } from "./scim-users.js";
import { hasVersion, versionTag } from "./etags.js";

/** A user or a group as SCIM clients see it. `isListed` leaves out what is only sent for a single resource. */
export type ScimResource = { isListed?: boolean } & (({ kind: "User" } & ScimUser) | ({ kind: "Group" } & ScimGroup));

const typeOf = ({ kind }: ScimResource): ResourceType => (kind === "User" ? userType : groupType);

/** Renders the part of a resource that a projection selects. Lists have members only where they are named. */
export async function documentOf(ctx: Context, resource: ScimResource, projection: Projection): Promise<Values> {
  const type = typeOf(resource);
  if (resource.kind === "User") return project(type, userResource(ctx, resource.row), projection);
  const isNamed = names(type, projection, "members");
  const isLeftOut = isSelective(projection)
    ? !isNamed
    : resource.isListed || names(type, { attributes: projection.excludedAttributes }, "members");
  const members = isLeftOut ? undefined : await ctx.load(membersByGroup, resource.row.id);
  return project(type, groupResource(ctx, resource.row, members), projection);
}

/** `documentOf`, if the projection names attributes to return or to leave out; null otherwise. */
export const selectionOf = async (
  ctx: Context,
  resource: ScimResource,
  projection: Projection,
): Promise<Values | null> =>
  isSelective(projection) || projection.excludedAttributes?.length ? documentOf(ctx, resource, projection) : null;

export const versionOf = ({ row }: ScimResource): string => versionTag(row);

export const urlOf = (ctx: Context, resource: ScimResource): string =>
  locationOf(ctx, typeOf(resource).endpoint, resource.row.id);

/** The account of a user; null for groups. */
export const accountOf = async (ctx: Context, resource: ScimResource): Promise<UserRow | null> =>
  resource.kind === "User" ? ((await ctx.load(usersById, resource.row.id)) ?? null) : null;

/** Whether a client that has one of the versions needs the resource: tags or `*`, separated by commas. */
export const isNewer = ({ row }: ScimResource, ifNoneMatch: string | null | undefined): boolean =>
  ifNoneMatch == null || !hasVersion(row, ifNoneMatch);

/** A page of resources of one or both types. */
export interface ScimPage extends Omit<Listed<unknown>, "rows"> {
  resources: ScimResource[];
}

/** Lists users. */
export async function listUsers(ctx: Context, query: ListQuery): Promise<ScimPage> {
  const { rows, ...page } = await listScimUsers(ctx, query);
  return { ...page, resources: rows.map((row) => ({ kind: "User", row, isListed: true })) };
}

/** Lists groups. */
export async function listGroups(ctx: Context, query: ListQuery): Promise<ScimPage> {
  const { rows, ...page } = await listScimGroups(ctx, query);
  return { ...page, resources: rows.map((row) => ({ kind: "Group", row, isListed: true })) };
}

/** Lists users, then groups. Filters and sorts by the attributes that both have. Pages by index. */
export async function searchResources(ctx: Context, query: ListQuery): Promise<ScimPage> {
  if (query.cursor != null) throw fault("invalidCursor", "A search of all resources has no cursors.", "cursor");
  if (query.filter) for (const type of [userType, groupType]) parseFilter(type, query.filter);
  const users = await listUsers(ctx, query);
  const startIndex = Math.max(query.startIndex ?? 1, 1);
  const limit = Math.min(Math.max(query.count ?? ctx.config.scimDefaultCount, 0), ctx.config.scimMaxCount);
  const groups = await listGroups(ctx, {
    ...query,
    startIndex: Math.max(startIndex - users.totalResults, 1),
    count: limit - users.resources.length,
  });
  return {
    totalResults: users.totalResults + groups.totalResults,
    startIndex,
    resources: [...users.resources, ...groups.resources],
  };
}

/** Renders a page as a ListResponse. */
export const listDocument = async (
  ctx: Context,
  { resources, ...page }: ScimPage,
  projection: Projection,
): Promise<Values> =>
  listResponse({ ...page, resources: await Promise.all(resources.map((each) => documentOf(ctx, each, projection))) });
