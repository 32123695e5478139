// The templates of an organization that the most workspaces are made from.
import { sql } from "kysely";
import type { Db } from "../../infrastructure/database/database.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
import { countJob } from "../kernel/summed-counts.js";
import { type Input, inputOf, otherwise, reference } from "../kernel/values.js";
import { findOrganization } from "../organizations/organizations.js";

/** The largest number of templates. */
export const mostTemplates = 5;

export const UsingOrganization = inputOf({
  organization: otherwise(reference, "default", "The organization: ID, name, or `default`."),
});
export type UsingOrganization = Input<typeof UsingOrganization>;

/** How many workspaces a template has. */
export interface TemplateUse {
  templateId: string;
  workspaceCount: number;
  runningCount: number;
}

/**
 * Reads the templates of an organization with the most workspaces, those of most first, for callers who may see how its
 * templates are used. Prebuilt workspaces do not count before they have an owner.
 */
export async function readMostUsedTemplates(
  ctx: Context,
  { organization: ref }: UsingOrganization,
): Promise<TemplateUse[]> {
  const { id: organizationId } = await findOrganization(ctx, ref);
  authorize(ctx.actor, "template:view_insights", { organizationId, acl: null });
  return ctx.readOnStandby(({ db }) =>
    db
      .selectFrom("templates as t")
      .leftJoin(uncounted(db).as("c"), "c.templateId", "t.id")
      .select("t.id as templateId")
      .select([count("workspaceCount").as("workspaceCount"), count("runningCount").as("runningCount")])
      .where("t.organizationId", "=", organizationId)
      .where(count("workspaceCount"), ">", 0)
      .orderBy("workspaceCount", "desc")
      .orderBy("runningCount", "desc")
      .orderBy("t.id")
      .limit(mostTemplates)
      .execute(),
  );
}

/** The changes of workspaces that their templates do not count yet. */
const uncounted = (db: Db) =>
  db
    .selectFrom("workspaceChanges")
    .select(({ fn }) => [
      "templateId",
      fn.sum("workspaceCount").as("workspaceCount"),
      fn.sum("runningCount").as("runningCount"),
    ])
    .groupBy("templateId");

const count = (name: "workspaceCount" | "runningCount") =>
  sql<number>`(${sql.ref(`t.${name}`)} + coalesce(${sql.ref(`c.${name}`)}, 0))::int`;

/** Adds the changes of workspaces to the counts of their templates. */
export const templateUseJob = countJob({
  name: "sum up the workspaces of templates",
  changes: "workspace_changes",
  of: "template_id",
  table: "templates",
  counts: { workspace_count: "workspace_count", running_count: "running_count" },
});
