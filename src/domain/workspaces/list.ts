import { agentStatus, type AgentStatus } from "../agents/agents.js";
import { reach } from "../authorization/authorization.js";
import { userIdOf } from "../kernel/actor.js";
import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import {
  allNarrowings,
  countIn,
  countMatches,
  type Fixed,
  matchesIn,
  type Order,
  rowsIn,
  type Search,
} from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import {
  cursor,
  type OrderBy,
  OrderDirection,
  type OrderKeys,
  type PageArguments,
  pageOf,
  readRange,
} from "../kernel/paging.js";
import { idNamed } from "../kernel/references.js";
import { allGiven, allOf, contains, given, raw, type Sql, sql } from "../kernel/sql.js";
import { proseProblem } from "../kernel/text.js";
import { findOrganization } from "../organizations/organizations.js";
import { findUser } from "../users/users.js";
import type { WorkspaceStatus } from "./status.js";
import { sharedWith, workspaceColumns, type WorkspaceRow } from "./workspaces.js";

/** Filters of workspaces. An absent filter does not narrow. */
export interface WorkspaceFilter {
  /** Id, username or `me`. */
  owner?: string | null;
  /** Id, name or `default`. */
  organization?: string | null;
  templateId?: string | null;
  status?: WorkspaceStatus | null;
  /** Part of the name, in any letter case. */
  search?: string | null;
  dormant?: boolean | null;
  /** Whether it has an agent of this status. */
  hasAgent?: AgentStatus | null;
}

/** Orders of workspaces. Activity is noted once a minute at most. */
export const WorkspaceOrderField = { LAST_USED_AT: "lastUsedAt" } as const;
export type WorkspaceOrderField = (typeof WorkspaceOrderField)[keyof typeof WorkspaceOrderField];

export interface WorkspacesQuery extends PageArguments {
  filter?: WorkspaceFilter | null;
  /** By default descending. */
  orderBy?: OrderBy<WorkspaceOrderField> | null;
}

/** A filter whose references are ids. */
type Selection = Omit<WorkspaceFilter, "search" | "hasAgent" | "dormant">;

/** Lists the workspaces that the caller may read, by default the most recently used first. */
export async function listWorkspaces(
  ctx: Context,
  { filter, orderBy, ...page }: WorkspacesQuery,
): Promise<Page<WorkspaceRow>> {
  const problems = new Problems();
  const { owner, organization, search, hasAgent, dormant, ...others } = filter ?? {};
  problems.add(
    "filter.search",
    given(search, (text) => proseProblem(text, 64)),
  );
  const range = readRange(page, useKeys, problems);
  problems.throwIfAny();
  const [ownerId, organizationId] = await Promise.all([
    owner ? idNamed(ctx, owner, findUser) : undefined,
    organization ? idNamed(ctx, organization, findOrganization) : undefined,
  ]);
  const selection = { ...others, owner: ownerId, organization: organizationId };
  const order = byUse(ctx, fixedBy(selection), orderBy?.direction !== OrderDirection.ASC);
  const condition = allOf(isReadable(ctx, selection), matching(selection, order.fixed ?? []));
  const from = (more?: Sql) => sql`from workspaces w where w.deleted_at is null and ${allOf(condition, more)}`;
  const columns = raw(workspaceColumns);
  const found = searchFor({ search, hasAgent, dormant }, { columns, from });
  const rows = found
    ? matchesIn(range, order, found)
    : rowsIn(range, order, (beyond) => sql`select ${columns} ${from(beyond)}`);
  return pageOf(range, await ctx.select<WorkspaceRow>(rows), {
    cursor: useCursor,
    count: () => ctx.count(found ? countMatches(order, found) : countIn(order, (more) => sql`select ${from(more)}`)),
  });
}

/** The key of the order in cursors. */
export const useKeys = { lastUsedAt: "time" } as const satisfies OrderKeys;

export const useCursor = ({ id, lastUsedAt }: WorkspaceRow): string =>
  cursor(id, { lastUsedAt } satisfies Record<keyof typeof useKeys, string>);

/** Orders by the last use. A page may begin only at a workspace that the caller may read. */
export const byUse = (ctx: Context, fixed: readonly Fixed[], isDescending: boolean): Order => ({
  fixed,
  keys: [
    {
      column: sql`w.last_used_at`,
      ofPlace: (id) => sql`(
        select w.last_used_at from workspaces w where ${allOf(sql`w.id = ${id}`, isReadable(ctx, {}))})`,
    },
  ],
  id: sql`w.id`,
  isDescending,
});

const columnOf = {
  owner: sql`w.owner_id`,
  templateId: sql`w.template_id`,
  organization: sql`w.organization_id`,
  status: sql`w.latest_status`,
} satisfies Partial<Record<keyof Selection, Sql>>;

const indexed = Object.keys(columnOf) as Array<keyof typeof columnOf>;

/** The filters, alone and together, that have an index in the order of the list, the most selective one first. */
const indexes: ReadonlyArray<ReadonlyArray<keyof typeof columnOf>> = [
  ["owner"],
  ["templateId"],
  ["organization", "status"],
  ["organization"],
  ["status"],
];

const fixedBy = (selection: Selection): Fixed[] =>
  (indexes.find((names) => names.every((name) => selection[name])) ?? []).map((name) => ({
    column: columnOf[name],
    value: selection[name]!,
  }));

const matching = (selection: Selection, fixed: readonly Fixed[]): Sql | undefined =>
  allGiven(
    ...indexed
      .filter((name) => !fixed.some(({ column }) => column === columnOf[name]))
      .map((name) => given(selection[name], (value) => sql`${columnOf[name]} = ${value}`)),
  );

/**
 * The condition that the caller may read the workspace `w`; absent if that follows from the selection. Callers without
 * a role have few workspaces, which are found by id.
 */
export function isReadable({ actor }: Context, selection: Selection): Sql | undefined {
  const { everywhere, organizations, own: readsOwn } = reach(actor, "workspace:read");
  const userId = userIdOf(actor) ?? null;
  const own = actor.kind === "user" ? [...actor.organizations.keys()] : [];
  if (everywhere || (selection.organization && organizations.includes(selection.organization))) return undefined;
  if (!readsOwn && organizations.length === 0) return sql`false`;
  const isOwn = sql`w.owner_id = ${userId} and w.organization_id = any(${own}::uuid[])`;
  const isTheirs = sql`w.organization_id = any(${organizations}::uuid[])`;
  const isNear = sql`w.id = any(array(
    select w.id from workspaces w where ${isOwn} and w.deleted_at is null union all ${sharedWith(userId)}))`;
  return organizations.length > 0 ? sql`(${isTheirs} or ${isNear})` : isNear;
}

/** The search for workspaces that match filters that few may match; absent without such filters. */
function searchFor(
  { search, hasAgent, dormant }: Pick<WorkspaceFilter, "search" | "hasAgent" | "dormant">,
  list: Pick<Search, "columns" | "from">,
): Search | undefined {
  const wanted = [
    given(search || undefined, (text) => {
      const isNamed = contains("w.name", text);
      return {
        matches: isNamed,
        candidates: sql`select w.id from workspaces w where w.deleted_at is null and ${isNamed}`,
      };
    }),
    given(hasAgent, (status) => ({
      // By the agents of the workspace: without the offset, Postgres might read those of all workspaces.
      matches: sql`exists (select ${agentsOf(status)} and a.workspace_id = w.id offset 0)`,
      candidates: sql`select a.workspace_id ${agentsOf(status)}`,
    })),
    given(dormant, (isDormant) => {
      const matches = isDormant ? sql`w.dormant_at is not null` : sql`w.dormant_at is null`;
      return { matches, candidates: sql`select w.id from workspaces w where w.deleted_at is null and ${matches}` };
    }),
  ].filter((each) => each !== undefined);
  return given(allNarrowings(wanted), (all) => ({ ...list, ...all }));
}

const agentsOf = (status: AgentStatus): Sql =>
  sql`from workspace_agents a where a.token_ended_at is null and ${raw(agentStatus)} = ${status}`;
