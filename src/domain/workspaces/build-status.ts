import { sql } from "kysely";

/** The status of a workspace: that of its latest build. */
export const WorkspaceStatus = {
  PENDING: "pending",
  STARTING: "starting",
  RUNNING: "running",
  STOPPING: "stopping",
  STOPPED: "stopped",
  FAILED: "failed",
  CANCELING: "canceling",
  CANCELED: "canceled",
  DELETING: "deleting",
  DELETED: "deleted",
} as const;
export type WorkspaceStatus = (typeof WorkspaceStatus)[keyof typeof WorkspaceStatus];

/** The transitions of builds. */
export const WorkspaceTransition = { START: "start", STOP: "stop", DELETE: "delete" } as const;
export type WorkspaceTransition = (typeof WorkspaceTransition)[keyof typeof WorkspaceTransition];

/** The status of the build `b` with the job `j`. */
export const buildStatus = sql<WorkspaceStatus>`case j.status
  when 'running' then case b.transition when 'start' then 'starting' when 'stop' then 'stopping' else 'deleting' end
  when 'succeeded' then case b.transition when 'start' then 'running' when 'stop' then 'stopped' else 'deleted' end
  else j.status end`;

/** The statuses of builds whose job has not ended. A workspace has at most one such build. */
export const openStatuses: readonly WorkspaceStatus[] = ["pending", "starting", "stopping", "deleting", "canceling"];

export const isOpen = (status: WorkspaceStatus): boolean => openStatuses.includes(status);
