import type { Logger } from "pino";
import type { Database } from "../../infrastructure/database/database.js";
import type { Events } from "../../runtime/events.js";
import { authorize } from "../authorization/authorization.js";
import { readSiteSetting, replaceSiteSetting, siteSetting } from "../deployment/site-settings.js";
import type { Context } from "../kernel/context.js";
import { Problems, quote } from "../kernel/errors.js";
import { StoredSettings } from "../kernel/stored-settings.js";
import { check, flag, type Input, inputOf, list, optional, reference } from "../kernel/values.js";
import { type McpTool, mcpTool, mcpTools } from "./tools.js";

/** Maximum number of names in the list of forbidden tools. */
const mostForbidden = 100;

export const UpdateMcpSettings = inputOf({
  enabled: optional(flag, "Whether programs may use the MCP server. Default: true."),
  forbiddenTools: optional(
    list(mostForbidden, reference),
    "Names of the tools that no program may use, {limits}. Default: none.",
  ),
});
export type UpdateMcpSettings = Input<typeof UpdateMcpSettings>;

/** The decisions of owners about the MCP server. */
export interface McpSettings {
  enabled: boolean;
  /** Names of tools, in the order of the catalog. */
  forbiddenTools: string[];
}

const mcpSetting = siteSetting<McpSettings>("mcp", { enabled: true, forbiddenTools: [] });

/** Signals all replicas that owners changed the settings. */
const mcpHint = { topic: "mcp_settings", id: "mcp" } as const;

/** The tools that programs may use, as owners decided. Follows changes on all replicas. */
export class AllowedTools extends StoredSettings {
  #settings: McpSettings = mcpSetting.initially;
  readonly #listeners = new Set<() => void>();

  constructor(private readonly options: { database: Pick<Database, "db">; events: Events; log: Logger }) {
    super(options, mcpHint, "The settings of the MCP server");
  }

  get isEnabled(): boolean {
    return this.#settings.enabled;
  }

  isAllowed = ({ name }: McpTool): boolean => !this.#settings.forbiddenTools.includes(name);

  /** Calls `listener` after each change. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  protected async read(): Promise<void> {
    const former = JSON.stringify(this.#settings);
    this.#settings = await readSiteSetting(this.options.database, mcpSetting);
    if (former !== JSON.stringify(this.#settings)) for (const listener of this.#listeners) listener();
  }
}

/** A tool, and whether programs may use it. */
export type ListedTool = McpTool & { isAllowed: boolean };

/** The MCP server as administrators see it. */
export interface McpServerState {
  enabled: boolean;
  url: string;
  tools: ListedTool[];
}

const stateOf = ({ config }: Context, { enabled, forbiddenTools }: McpSettings): McpServerState => ({
  enabled,
  url: `${config.accessUrl}/mcp`,
  tools: mcpTools.map((tool) => ({ ...tool, isAllowed: !forbiddenTools.includes(tool.name) })),
});

/** Returns the settings of the MCP server with all of its tools. */
export async function readMcpServer(ctx: Context): Promise<McpServerState> {
  authorize(ctx.actor, "deployment_config:read");
  return stateOf(ctx, await readSiteSetting(ctx, mcpSetting));
}

/** Replaces the settings. Requests that have begun are not interrupted. */
export async function updateMcpSettings(ctx: Context, given: UpdateMcpSettings): Promise<McpServerState> {
  authorize(ctx.actor, "deployment_config:update");
  const forbidden = given.forbiddenTools ?? [];
  const problems = new Problems();
  check(UpdateMcpSettings, given, problems);
  for (const [index, name] of forbidden.entries())
    problems.add(`forbiddenTools[${index}]`, mcpTool(name) ? undefined : `There is no tool ${quote(name)}.`);
  problems.throwIfAny();
  const settings: McpSettings = {
    enabled: given.enabled ?? true,
    forbiddenTools: mcpTools.flatMap(({ name }) => (forbidden.includes(name) ? name : [])),
  };
  await replaceSiteSetting(ctx, mcpSetting, settings, { resourceType: "mcp_settings" });
  // The next request to this replica finds the change; hints tell the others.
  ctx.afterCommit(() => ctx.services.mcpTools.refresh());
  ctx.publish(mcpHint);
  return stateOf(ctx, settings);
}
