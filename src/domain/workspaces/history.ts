import type { Context } from "../kernel/context.js";
import { lookup } from "../kernel/database.js";
import { notFound, Problems } from "../kernel/errors.js";
import { countUpTo, mostCounted, type Order, rowsIn } from "../kernel/list.js";
import type { Page } from "../kernel/page.js";
import { cursor, type PageArguments, pageOf, readRange } from "../kernel/paging.js";
import { raw, sql } from "../kernel/sql.js";
import { buildColumns, type BuildRow, buildTables } from "./builds.js";
import { findWorkspace, type WorkspaceRow } from "./workspaces.js";

const byId = lookup<BuildRow>(`select ${buildColumns} from ${buildTables} where b.id = $1`);

/** Finds a build of a workspace that the caller may read. Throws NOT_FOUND. */
export async function findBuild(ctx: Context, id: string): Promise<BuildRow> {
  const build = await ctx.row(byId, id);
  if (!build) throw notFound();
  await findWorkspace(ctx, build.workspaceId);
  return build;
}

const select = (beyond = sql`true`) => sql`select ${raw(buildColumns)} from ${raw(buildTables)} where ${beyond}`;

/** Lists the builds of a workspace that the caller may read, the latest first. */
export async function buildsOf(
  ctx: Context,
  { id: workspaceId }: Pick<WorkspaceRow, "id">,
  page: PageArguments,
): Promise<Page<BuildRow>> {
  const problems = new Problems();
  const range = readRange(page, { createdAt: "time" }, problems);
  problems.throwIfAny();
  const ofPlace = (id: string) =>
    sql`(select created_at from workspace_builds where id = ${id} and workspace_id = ${workspaceId})`;
  const order: Order = {
    fixed: [{ column: sql`b.workspace_id`, value: workspaceId }],
    keys: [{ column: sql`b.created_at`, ofPlace }],
    id: sql`b.id`,
    isDescending: true,
  };
  return pageOf(range, await ctx.select<BuildRow>(rowsIn(range, order, select)), {
    cursor: ({ id, createdAt }) => cursor(id, { createdAt }),
    count: () =>
      ctx.count(countUpTo(mostCounted, sql`select from workspace_builds b where b.workspace_id = ${workspaceId}`)),
  });
}
