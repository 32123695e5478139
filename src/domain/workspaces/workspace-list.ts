import { type Expression, sql, type SqlBool } from "kysely";
import { agentStatus, AgentStatus } from "../agents/agents.js";
import { selectPermitted } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import { anyOf, type Match } from "../kernel/queries.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { contains, defineList, defineListOfEach, idNamed, inOrganizations, time } from "../kernel/lists.js";
import { listArguments, OrderDirection, orderOf, type Page, type PageArguments } from "../kernel/paging.js";
import { check, choice, flag, inputOf, type Input, optional, prose, reference, uuid } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser, UserStatus } from "../users/users.js";
import { WorkspaceStatus } from "./build-status.js";
import { isUnhealthy } from "./workspace-health.js";
import { sharedWith, type WorkspaceRow, workspaces } from "./workspaces.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const own = columnsOf("workspaces", "own");
const w = columnsOf("workspaces", "w");
const a = columnsOf("workspaceAgents", "a");

/** Filters of workspaces. An absent filter does not narrow. */
export const WorkspaceFilter = inputOf({
  owner: optional(reference, "Owner: ID, username, or `me`."),
  organization: optional(reference, "Organization: ID, name, or `default`."),
  templateId: optional(uuid, "ID of the template."),
  status: optional(choice(WorkspaceStatus), "Status of the workspace."),
  search: optional(prose(64), "Substring of the name, case-insensitive."),
  dormant: optional(flag, "Whether the workspace is dormant."),
  ownerStatus: optional(choice(UserStatus), "Status of the owner: `SUSPENDED` for workspaces of those who left."),
  hasAgent: optional(choice(AgentStatus), "Workspaces that have an agent of this status."),
  unhealthy: optional(flag, "Whether something is wrong: with its latest build, its agents, or their apps."),
});
export type WorkspaceFilter = Input<typeof WorkspaceFilter>;

/** Orders of workspaces. Activity is noted once a minute at most. */
export const WorkspaceOrderField = { LAST_USED_AT: "lastUsedAt" } as const;
export type WorkspaceOrderField = (typeof WorkspaceOrderField)[keyof typeof WorkspaceOrderField];

export const WorkspaceOrder = orderOf(WorkspaceOrderField);
export const WorkspacesQuery = listArguments(WorkspaceFilter, WorkspaceOrder, "by the last use, descending");
export type WorkspacesQuery = Input<typeof WorkspacesQuery>;

const readableWorkspaces = (ctx: Context) => workspaces(ctx.db).where("w.deletedAt", "is", null).where(isReadable(ctx));

/** The condition that the caller may read the workspace `w`. Callers without a role have few, which are found by id. */
function isReadable({ actor }: Context): Expression<SqlBool> {
  const { everywhere, organizations, own: readsOwn } = selectPermitted(actor, "workspace:read");
  if (everywhere) return sql`true`;
  if (!readsOwn && organizations.length === 0) return sql`false`;
  const userId = userIdOf(actor) ?? null;
  const memberships = actor.kind === "user" ? [...actor.organizations.keys()] : [];
  const isNear = sql<SqlBool>`w.id = any(array(
    select own.id from workspaces own
    where ${own.ownerId} = ${userId} and ${own.organizationId} = ${anyOf(memberships)} and ${own.deletedAt} is null
    union all ${sharedWith(userId)}))`;
  return organizations.length > 0 ? sql`(${inOrganizations("w.organizationId", organizations)} or ${isNear})` : isNear;
}

/** The workspaces that the caller may read whose names match a text. */
export const workspacesNamed = (ctx: Context, part: string, match: Match) =>
  readableWorkspaces(ctx).where(contains("w.name", part, match));

const definition = {
  id: { column: "w.id", of: ({ id }: WorkspaceRow) => id },
  orders: { [WorkspaceOrderField.LAST_USED_AT]: { lastUsedAt: time<WorkspaceRow>("w.lastUsedAt") } }, // workspaces_list_index
  filters: {},
  // A workspace may have been deleted since its page was read.
  otherPlace: (ctx: Context, id: string) => sql`
    select ${w.lastUsedAt}, w.id from workspaces w where w.id = ${id} and ${isReadable(ctx)}`,
};

const workspaceList = defineList(readableWorkspaces, {
  ...definition,
  filters: {
    owner: (eb, id: string) => eb("w.ownerId", "=", id),
    organization: (eb, id: string) => eb("w.organizationId", "=", id),
    templateId: (eb, id: string) => eb("w.templateId", "=", id),
    status: (eb, status: WorkspaceStatus) => eb("w.latestStatus", "=", status),
    search: (_, part: string) => contains("w.name", part),
    dormant: (eb, isDormant: boolean) => eb("w.dormantAt", isDormant ? "is not" : "is", null),
    ownerStatus: (_, status: UserStatus) => sql<SqlBool>`exists (
      select from users o where o.id = ${w.ownerId} and o.status = ${status} offset 0)`,
    // By the agents of the workspace: without the offset, Postgres might read those of all workspaces.
    hasAgent: (_, status: AgentStatus) => sql<SqlBool>`exists (
      select from workspace_agents a
      where ${a.workspaceId} = w.id and ${a.tokenEndedAt} is null and ${agentStatus} = ${status} offset 0)`,
    unhealthy: (eb, isWanted: boolean, ctx) => (isWanted ? isUnhealthy(ctx) : eb.not(isUnhealthy(ctx))),
  },
  planned: ["organization", "status", "search", "dormant", "ownerStatus", "hasAgent", "unhealthy"],
});

const lastUsedFirst = { field: WorkspaceOrderField.LAST_USED_AT, direction: OrderDirection.DESC };

/** Lists the workspaces that the caller may read, by default the most recently used first. */
export async function listWorkspaces(
  ctx: Context,
  { filter, orderBy, ...page }: WorkspacesQuery,
): Promise<Page<WorkspaceRow>> {
  const problems = new Problems();
  check(WorkspaceFilter, filter ?? {}, problems, "filter");
  const [owner, organization] = await Promise.all([
    filter?.owner ? idNamed(ctx, filter.owner, findUser) : undefined,
    filter?.organization ? idNamed(ctx, filter.organization, findOrganization) : undefined,
  ]);
  const query = { filter: { ...filter, owner, organization }, orderBy: orderBy ?? lastUsedFirst, page };
  return workspaceList.page(ctx, query, problems);
}

/** Lists the workspaces of an object that the caller may read, the most recently used first. */
function workspacesOf(column: "w.ownerId" | "w.organizationId" | "w.templateId") {
  const list = defineListOfEach((ctx, id) => readableWorkspaces(ctx).where(column, "=", id), definition);
  return (ctx: Context, { id }: { id: string }, page: PageArguments): Promise<Page<WorkspaceRow>> =>
    list.pageOf(ctx, id, { page, orderBy: lastUsedFirst });
}

// workspaces_owner_used_index, workspaces_used_index, workspaces_template_index
export const workspacesOfUser = workspacesOf("w.ownerId");
export const workspacesOfOrganization = workspacesOf("w.organizationId");
export const workspacesOfTemplate = workspacesOf("w.templateId");
