import { type Database, statement } from "../kernel/database.js";
import type { Feature } from "./features.js";

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

/** SQL conditions that detect stored configuration of a feature. */
const traces: Partial<Record<Feature, string>> = {
  template_rbac: "exists (select from groups where id <> organization_id)",
  aibridge: "exists (select from group_ai_budgets)",
  multiple_organizations: "exists (select from organizations where deleted_at is null and not is_default)",
  appearance: "exists (select from site_settings where key = 'appearance')",
  advanced_template_scheduling: "exists (select from user_quiet_hours)",
  workspace_proxy: "exists (select from workspace_proxies where deleted_at is null)",
};

const found = Object.entries(traces).map(([feature, condition]) => `case when ${condition} then '${feature}' end`);

const usage = statement<Usage>(`
  select id as "deploymentId",
    (select count(*) from users
     where status = 'active' and deleted_at is null and not is_system and not is_service_account) as "activeUsers",
    array_remove(array[${found.join(", ")}], null) as "inUse"
  from deployment`);

export async function readUsage(database: Database): Promise<Usage> {
  const [row] = await database.query(usage, []);
  if (!row) throw new Error("The deployment has no id: the database was never initialized.");
  return row;
}

/** The number of successful task starts in the period. Always 0: there are no tasks yet. */
export const countManagedAgents = async (_database: Database, _period: Period): Promise<number> => 0;

/** The calendar month around a time, in UTC. */
export function monthOf(at: number): Period {
  const now = new Date(at);
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset);
  return { start: month(0), end: month(1) };
}
