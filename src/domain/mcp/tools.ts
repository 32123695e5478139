/** How a tool changes what it works on. */
export const McpToolEffect = { READS: "reads", CHANGES: "changes", DELETES: "deletes" } as const;
export type McpToolEffect = (typeof McpToolEffect)[keyof typeof McpToolEffect];

/** A tool of the MCP server, as models and people read it. `rest/mcp` has the operation that it runs. */
export interface McpTool {
  readonly name: string;
  readonly title: string;
  /** Tells a model when to use the tool. */
  readonly description: string;
  readonly effect: McpToolEffect;
}

type Told = readonly [name: string, title: string, description: string];

const all = (effect: McpToolEffect, tools: readonly Told[]): McpTool[] =>
  tools.map(([name, title, description]) => ({ name, title, description, effect }));

/** The tools in the order in which clients list them. A tool is never renamed: settings and clients know it by its name. */
export const mcpTools: readonly McpTool[] = [
  ...all("reads", [
    ["who_am_i", "Who am I", "Returns the user in whose name the tools act, with roles and organizations."],
    [
      "search",
      "Search",
      "Finds workspaces, tasks, templates, users, and groups by a part of their name. The quickest way from a name to an ID.",
    ],
    ["find_people", "Find people", "Lists users by a part of their username, name, or email address."],
    ["find_groups", "Find groups", "Lists groups by a part of their name."],
    ["read_group", "Read group", "Returns a group with its first members."],
    ["list_organizations", "List organizations", "Lists the organizations that the user can see."],
    ["find_templates", "Find templates", "Lists the templates from which workspaces and tasks are created."],
    [
      "read_template",
      "Read template",
      "Returns a template with its active version, its parameters, and its presets: what create_workspace and create_task need.",
    ],
    [
      "estimate_cost",
      "Estimate cost",
      "Returns the credits per day that a workspace of a template version costs, and the credits that are left.",
    ],
    [
      "find_workspaces",
      "Find workspaces",
      "Lists workspaces, the most recently used first. Give `owner` as `me` for those of the user.",
    ],
    ["read_workspace", "Read workspace", "Returns a workspace with its latest build, its health, and its agents."],
    [
      "list_builds",
      "List builds",
      "Lists the builds of a workspace, the newest first: its starts, stops, and who caused them.",
    ],
    [
      "read_build_log",
      "Read build log",
      "Returns lines of the log of a workspace build, oldest first. Give the cursor of the last page to read on.",
    ],
    [
      "read_agent_log",
      "Read agent log",
      "Returns lines of the log of a workspace agent, oldest first: what its scripts print. Give the cursor of the last page to read on.",
    ],
    [
      "read_quota",
      "Read quota",
      "Returns the credits that the workspaces of a user may cost, and those that they cost now.",
    ],
    [
      "find_tasks",
      "Find tasks",
      "Lists AI tasks: prompts given to agent programs that run in workspaces of their own.",
    ],
    ["read_task", "Read task", "Returns an AI task with its state and its queued inputs."],
    [
      "read_task_log",
      "Read task log",
      "Returns the conversation of an AI task: its inputs, and what the program wrote.",
    ],
    [
      "wait_for_workspace",
      "Wait for workspace",
      "Waits until no build of a workspace is running any more, and returns the workspace. Reports progress.",
    ],
    [
      "wait_for_task",
      "Wait for task",
      "Waits until an AI task needs attention: its program waits for input, it has failed, or it is paused. Reports progress.",
    ],
    ["read_inbox", "Read inbox", "Lists the notifications of the user, the newest first."],
    [
      "search_audit_log",
      "Search audit log",
      "Lists recorded actions, the newest first: who did what, and when. For auditors and administrators.",
    ],
  ]),
  ...all("changes", [
    [
      "create_workspace",
      "Create workspace",
      "Creates a workspace from a template, and starts it. Use wait_for_workspace to follow its build.",
    ],
    ["start_workspace", "Start workspace", "Starts a stopped workspace."],
    [
      "stop_workspace",
      "Stop workspace",
      "Stops a running workspace. Programs in it end; its files stay, as far as its template keeps them.",
    ],
    ["restart_workspace", "Restart workspace", "Stops a workspace, and starts it again."],
    ["extend_workspace", "Extend workspace", "Moves the time at which a running workspace is stopped."],
    [
      "create_task",
      "Create task",
      "Gives a prompt to an agent program, in a new workspace of its own. Use wait_for_task to follow it.",
    ],
    ["send_task_input", "Send task input", "Sends an input to an AI task, as a user would type it."],
    ["interrupt_task", "Interrupt task", "Tells the program of an AI task to stop what it is doing."],
    ["pause_task", "Pause task", "Pauses an AI task: its workspace is stopped."],
    ["resume_task", "Resume task", "Resumes a paused AI task: its workspace is started."],
    ["mark_notification", "Mark notification", "Marks a notification of the user as read or unread."],
  ]),
  ...all("deletes", [
    ["delete_workspace", "Delete workspace", "Deletes a workspace with its files, for good. The user is asked first."],
    ["delete_task", "Delete task", "Deletes an AI task with its workspace, for good. The user is asked first."],
  ]),
];

/** The scopes that the tools need. Programs that ask for the MCP server alone may get them, whatever they registered. */
export const mcpScopes: readonly string[] = [
  "audit_log:read",
  "group:read",
  "inbox_notification:read",
  "inbox_notification:update",
  "organization:read",
  "provisioner_job:read",
  "task:create",
  "task:delete",
  "task:read",
  "template:read",
  "template:use",
  "user:read",
  "workspace:application_connect",
  "workspace:create",
  "workspace:delete",
  "workspace:read",
  "workspace:start",
  "workspace:stop",
  "workspace:update",
];

/**
 * Those of them with which programs begin: for all but deletions and the audit log, which a user allows by name when a tool
 * needs them. Many programs ask their user once only, and could do nothing with scopes to read.
 */
export const mcpUsualScopes: readonly string[] = mcpScopes.filter(
  (scope) => !scope.endsWith(":delete") && scope !== "audit_log:read",
);

/** Returns the tool of a name. */
export const mcpTool = (name: string): McpTool | undefined => mcpTools.find((tool) => tool.name === name);
