// Background jobs that the server repeats by itself, run when a test asks for it.
import { reconcilePrebuilds } from "../../src/domain/prebuilds/reconciliation.js";
import { reportFailures } from "../../src/domain/workspaces/failure-reports.js";
import { workspaceJobs } from "../../src/domain/workspaces/workspace-jobs.js";
import type { World } from "./world.js";

/** Makes the prebuilt workspaces that are missing, and deletes the surplus. */
export const prebuild = ({ app }: World): Promise<void> => reconcilePrebuilds(app.services);

/** Runs the job for workspaces whose name begins with `name`: `stop`, `make` (dormant), `delete`. */
export const runSchedule = ({ app }: World, name: string): Promise<void> =>
  workspaceJobs.find((job) => job.name.startsWith(name))!.run(app.services);

/** Sends the reports about the builds of this week, as if it were over. */
export const reportWeek = ({ app }: World): Promise<void> =>
  reportFailures(app.services, new Date(Date.now() + 7 * 86_400_000));
