import type { Context } from "../kernel/context.js";
import { Problems } from "../kernel/errors.js";
import { rowsIn } from "../kernel/list.js";
import { countNested, type NestedPage, ownerId, readNested } from "../kernel/nested.js";
import type { Page } from "../kernel/page.js";
import { type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { allOf, raw, type Sql, sql } from "../kernel/sql.js";
import { byUse, isReadable, useCursor, useKeys } from "./list.js";
import { workspaceColumns, type WorkspaceRow } from "./workspaces.js";

/** Reads pages of the workspaces that have something in common, for many objects in one statement. */
function joinedBy(column: Sql) {
  const from = (ctx: Context, beyond?: Sql): Sql =>
    sql`from workspaces w where w.deleted_at is null and ${allOf(sql`${column} = ${ownerId}`, isReadable(ctx, {}), beyond)}`;
  const read = (ctx: Context, wanted: readonly NestedPage[]): Promise<WorkspaceRow[][]> =>
    readNested(ctx, wanted, (range) =>
      rowsIn(range, byUse(ctx, [], true), (beyond) => sql`select ${raw(workspaceColumns)} ${from(ctx, beyond)}`),
    );
  const count = (ctx: Context, ids: readonly string[]): Promise<number[]> =>
    countNested(ctx, ids, sql`select count(*) ${from(ctx)}`);
  return async (ctx: Context, { id }: { id: string }, page: PageArguments): Promise<Page<WorkspaceRow>> => {
    const problems = new Problems();
    const range = readRange(page, useKeys, problems);
    problems.throwIfAny();
    return pageOf(range, await ctx.load(read, { ownerId: id, range }), {
      cursor: useCursor,
      count: () => ctx.load(count, id),
    });
  };
}

/** Lists the workspaces of a user that the caller may read, the most recently used first. */
export const workspacesOfUser = joinedBy(sql`w.owner_id`);

/** Lists the workspaces of an organization that the caller may read, the most recently used first. */
export const workspacesOfOrganization = joinedBy(sql`w.organization_id`);

/** Lists the workspaces of a template that the caller may read, the most recently used first. */
export const workspacesOfTemplate = joinedBy(sql`w.template_id`);
