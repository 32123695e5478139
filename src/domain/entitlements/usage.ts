import { type RawBuilder, sql, type SqlBool } from "kysely";
import type { Database } from "../../infrastructure/database/database.js";
import type { Feature } from "./features.js";
import { columnsOf } from "../../infrastructure/database/columns.js";

const groups = columnsOf("groups");
const organizations = columnsOf("organizations");
const workspaceProxies = columnsOf("workspaceProxies");

/** A time span, in milliseconds since the epoch. */
export interface Period {
  start: number;
  end: number;
}

/** The usage to compare with the licenses. */
export interface Usage {
  deploymentId: string;
  /** Excludes system users and service accounts. */
  activeUsers: number;
  /** Features for which stored configuration exists. */
  inUse: Feature[];
}

/** Conditions that detect stored configuration of a feature. */
const traces: Partial<Record<Feature, RawBuilder<SqlBool>>> = {
  template_rbac: sql`exists (select from groups where id <> ${groups.organizationId})`,
  aibridge: sql`exists (select from group_ai_budgets)`,
  multiple_organizations: sql`exists (select from organizations where ${organizations.deletedAt} is null and not ${organizations.isDefault})`,
  appearance: sql`exists (select from site_settings where key = 'appearance')`,
  advanced_template_scheduling: sql`exists (select from user_quiet_hours)`,
  workspace_proxy: sql`exists (select from workspace_proxies where ${workspaceProxies.deletedAt} is null)`,
};

const found = sql.join(
  Object.entries(traces).map(([feature, condition]) => sql`case when ${condition} then ${sql.lit(feature)} end`),
);

export async function readUsage({ db }: Pick<Database, "db">): Promise<Usage> {
  const activeUsers = db
    .selectFrom("users")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("status", "=", "active")
    .where("deletedAt", "is", null)
    .where("isSystem", "=", false)
    .where("isServiceAccount", "=", false);
  const row = await db
    .selectFrom("deployment")
    .select((eb) => [
      "id as deploymentId",
      eb.fn.coalesce(activeUsers, sql<number>`0`).as("activeUsers"),
      sql<Feature[]>`array_remove(array[${found}], null)`.as("inUse"),
    ])
    .executeTakeFirst();
  if (!row) throw new Error("The deployment has no id: the database was never initialized.");
  return row;
}

/** The number of successful starts of tasks in the period: of new tasks, and of paused ones that were resumed. */
export async function countManagedAgents({ db }: Pick<Database, "db">, { start, end }: Period): Promise<number> {
  const { count } = await db
    .selectFrom("taskBuilds as s")
    .innerJoin("tasks as t", "t.id", "s.taskId")
    .innerJoin("workspaceBuilds as b", (on) =>
      on.onRef("b.workspaceId", "=", "t.workspaceId").onRef("b.buildNumber", "=", "s.buildNumber"),
    )
    .innerJoin("provisionerJobs as j", "j.id", "b.jobId")
    .where("j.status", "=", "succeeded")
    .where("j.completedAt", ">=", new Date(start).toISOString())
    .where("j.completedAt", "<", new Date(end).toISOString())
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** The calendar month around a time, in UTC. */
export function monthOf(at: number): Period {
  const now = new Date(at);
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset);
  return { start: month(0), end: month(1) };
}
