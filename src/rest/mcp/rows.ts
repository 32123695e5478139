/** Options of a tool. Never logic. */
export interface ToolOptions {
  /** The most objects of a page, which the variable `limit` sets. */
  most?: number;
  /** The tool waits: it reads again after each event of a subscription, until the state is none of those in between. */
  waits?: Waiting;
  /** The operation that reads what a tool deletes, for the question that the user gets; it has a part of the variables. */
  asks?: string;
  /** Deleting tools: the scope that stands for the question, for clients that cannot ask. */
  scope?: string;
}

/** The end of a wait. */
export interface Waiting {
  /** The subscription that reports changes. */
  subscription: string;
  /** The field of the result with the state, as a path. */
  state: readonly string[];
  /** The states in which waiting goes on. */
  between: readonly string[];
  /** The same of another field, which has to be none of these as well, if it has a value. */
  and?: { state: readonly string[]; between: readonly string[] };
}

/** The operation that each tool runs, by the name of the tool. */
export type ToolRow = readonly [tool: string, operation: string, options?: ToolOptions];

const page: ToolOptions = { most: 50 };
const lines: ToolOptions = { most: 200 };

const buildEnds: ToolOptions = {
  waits: {
    subscription: "WatchWorkspace",
    state: ["status"],
    between: ["pending", "starting", "stopping", "deleting", "canceling"],
  },
};
const needsAttention: ToolOptions = {
  waits: {
    subscription: "WatchTask",
    state: ["status"],
    between: ["pending", "initializing"],
    and: { state: ["current_state", "state"], between: ["working"] },
  },
};
const workspaceDeletion: ToolOptions = { asks: "NameWorkspace", scope: "workspace:delete" };
const taskDeletion: ToolOptions = { asks: "NameTask", scope: "task:delete" };

// oxfmt-ignore
export const toolRows: readonly ToolRow[] = [
  ["who_am_i",           "WhoAmI"],
  ["search",             "Search"],
  ["find_people",        "FindPeople",          page],
  ["find_groups",        "FindGroups",          page],
  ["read_group",         "ReadGroup",           page],
  ["list_organizations", "ListOrganizations"],
  ["find_templates",     "FindTemplates",       page],
  ["read_template",      "ReadTemplate"],
  ["estimate_cost",      "EstimateCost"],
  ["find_workspaces",    "FindWorkspaces",      page],
  ["read_workspace",     "ReadWorkspace"],
  ["list_builds",        "ListBuilds",          page],
  ["read_build_log",     "ReadBuildLog",        lines],
  ["read_agent_log",     "ReadAgentLog",        lines],
  ["read_quota",         "ReadQuota"],
  ["find_tasks",         "FindTasks",           page],
  ["read_task",          "ReadTask"],
  ["read_task_log",      "ReadTaskLog"],
  ["wait_for_workspace", "ReadWorkspace",       buildEnds],
  ["wait_for_task",      "ReadWatchedTask",     needsAttention],
  ["read_inbox",         "ReadInbox",           page],
  ["search_audit_log",   "SearchAuditLog",      page],
  ["create_workspace",   "CreateWorkspaceFromTemplate"],
  ["start_workspace",    "StartOneWorkspace"],
  ["stop_workspace",     "StopOneWorkspace"],
  ["restart_workspace",  "RestartOneWorkspace"],
  ["extend_workspace",   "ExtendWorkspace"],
  ["create_task",        "CreateOneTask"],
  ["send_task_input",    "SendInput"],
  ["interrupt_task",     "InterruptOneTask"],
  ["pause_task",         "PauseOneTask"],
  ["resume_task",        "ResumeOneTask"],
  ["mark_notification",  "MarkNotification"],
  ["delete_workspace",   "DeleteOneWorkspace",  workspaceDeletion],
  ["delete_task",        "DeleteOneTask",       taskDeletion],
];
