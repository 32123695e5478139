/** A kind of resource: what one of the tools reads, by its ID. */
export interface ResourceRow {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Its variables are arguments of the tool. */
  readonly uri: string;
  readonly tool: string;
  /** The tool that lists resources, and the field of its result that has them. */
  readonly list?: { readonly tool: string; readonly field: string };
}

export const resourceRows: readonly ResourceRow[] = [
  {
    name: "template",
    title: "Template",
    description: "A template with its parameters and presets.",
    uri: "steward://templates/{template_id}",
    tool: "read_template",
    list: { tool: "find_templates", field: "templates" },
  },
  {
    name: "build-log",
    title: "Build log",
    description: "The first lines of the log of a workspace build.",
    uri: "steward://builds/{workspace_build_id}/log",
    tool: "read_build_log",
  },
  {
    name: "agent-log",
    title: "Agent log",
    description: "The first lines of the log of a workspace agent.",
    uri: "steward://agents/{agent_id}/log",
    tool: "read_agent_log",
  },
  {
    name: "task-log",
    title: "Task log",
    description: "The conversation of an AI task.",
    uri: "steward://tasks/{task}/log",
    tool: "read_task_log",
  },
];
