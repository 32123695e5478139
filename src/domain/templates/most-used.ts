// The templates of an organization that the most workspaces are made from.
import { sql } from "kysely";
import { plannedForValues } from "../../infrastructure/database/dialect.js";
import { authorize } from "../authorization/authorization.js";
import type { Context } from "../kernel/context.js";
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
      .selectFrom("workspaces as w")
      .select(["w.templateId", sql<number>`count(*)::int`.as("workspaceCount")])
      .select(({ fn }) => [
        sql<number>`${fn.countAll().filterWhere("w.latestStatus", "=", "running")}::int`.as("runningCount"),
      ])
      .where("w.organizationId", "=", organizationId)
      .where("w.deletedAt", "is", null)
      .where("w.prebuiltPresetId", "is", null)
      .groupBy("w.templateId")
      .orderBy("workspaceCount", "desc")
      .orderBy("runningCount", "desc")
      .orderBy("w.templateId")
      .limit(mostTemplates)
      // The best plan depends on the size of the organization.
      .modifyEnd(sql.raw(plannedForValues))
      .execute(),
  );
}
