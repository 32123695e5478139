import { sqlId } from "../data.js";
import type { Size } from "./size.js";

/** The statuses of tasks, which take turns. */
const statuses = ["paused", "active", "error", "initializing", "pending", "unknown"];

/** A task of each of the first workspaces, the oldest one with a rare name. */
export const tasks = ({ tasks: count }: Size) => `
  insert into tasks (id, created_at, updated_at, owner_id, organization_id, name, display_name, initial_prompt, version_id,
    workspace_id, status)
  select ${sqlId("e", "n")}, timestamptz '2026-11-01T00:00:00Z' + n * interval '1 minute', now(), w.owner_id,
    w.organization_id, w.name, case n when 0 then 'Zebulon' else 'Task ' || n end, 'Fix it', ${sqlId("a", "2")}, w.id,
    (array['${statuses.join("','")}'])[1 + n % ${statuses.length}]
  from generate_series(0, ${count - 1}) n join workspaces w on w.id = ${sqlId("5", "n")};
  insert into task_builds (task_id, build_number, agent_id, app_id)
  select ${sqlId("e", "n")}, 1, ${sqlId("8", "n")}, ${sqlId("f", "n")} from generate_series(0, ${count - 1}) n;`;
