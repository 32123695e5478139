import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { EncryptionKey } from "./encryption.js";
import { Workspace, WorkspaceBuild, WorkspaceResource } from "./workspaces.js";
import { longestApiVersion, longestLabel, longestName, longestPath, longestUrl, longestVersion } from "./lengths.js";

/** Maximum length of the message of a status in bytes, which the column and the input have. */
export const longestStatusMessage = 160;

const bytes = () => p.type("bytea").$type<Buffer>();

/**
 * Processors, memory and disk of the machine of an agent, in thousandths of a processor and bytes; null if unknown. Reports of
 * earlier releases lack the processors.
 */
export interface AgentUsage {
  cpuUsedMillicores?: number | null;
  cpuTotalMillicores?: number | null;
  memoryUsedBytes: number | null;
  memoryTotalBytes: number | null;
  diskUsedBytes: number | null;
  diskTotalBytes: number | null;
  /** RFC 3339. */
  reportedAt: string;
}

/** Agents of started workspaces. Each start creates new agents. */
export const WorkspaceAgentSchema = defineEntity({
  name: "WorkspaceAgent",
  tableName: "workspace_agents",
  extends: BaseSchema,
  uniques: [
    { name: "workspace_agents_token_unique", properties: ["tokenHash"] },
    {
      name: "workspace_agents_name_unique",
      expression:
        "create unique index workspace_agents_name_unique on workspace_agents (workspace_id, name) where token_ended_at is null",
    },
  ],
  indexes: [
    {
      name: "workspace_agents_key_index",
      expression:
        "create index workspace_agents_key_index on workspace_agents (token_key_id, id) where token_key_id is not null",
    },
  ],
  properties: {
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index("workspace_agents_workspace_index"),
    /** The start that created it. */
    build: () => p.manyToOne(WorkspaceBuild).ref().deleteRule("cascade").index("workspace_agents_build_index"),
    resource: () => p.manyToOne(WorkspaceResource).ref().deleteRule("cascade").index("workspace_agents_resource_index"),
    name: p.string().length(longestName),
    /** SHA-256 of the token after its `stwa_` prefix. */
    tokenHash: bytes(),
    /** When the token lost effect because the workspace was started again, stopped, or deleted. */
    tokenEndedAt: moment().nullable(),
    /** The token of an external agent, which its owner may read again; null for all others. */
    tokenCiphertext: bytes().nullable(),
    tokenNonce: bytes().nullable(),
    tokenKey: () => p.manyToOne(EncryptionKey).ref().nullable().index(false).deleteRule("no action"),
    operatingSystem: p.enum(["linux", "darwin", "windows"]).default("linux"),
    architecture: p.enum(["amd64", "arm64", "armv7"]).default("amd64"),
    directory: p.string().length(longestPath).default(""),
    /** As the agent reported it. */
    expandedDirectory: p.string().length(longestPath).default(""),
    /** Program and arguments; empty if the daemon starts nothing. */
    command: p.json<string[]>().defaultRaw("'[]'"),
    restart: p.enum(["never", "on_failure"]).default("never"),
    isExternal: p.boolean().default(false),
    /** The variables of the document, rendered. */
    environment: p.json<Record<string, string>>().defaultRaw("'{}'"),
    /** Seconds; 0 sets no limit. */
    connectionTimeout: p.integer().default(120),
    startupScriptBehavior: p.enum(["non-blocking", "blocking"]).default("non-blocking"),
    troubleshootingUrl: p.string().length(longestUrl).default(""),
    displayApps: p.array().default([]),
    version: p.string().length(longestVersion).default(""),
    apiVersion: p.string().length(longestApiVersion).default(""),
    subsystems: p.array().default([]),
    lifecycle: p
      .enum([
        "created",
        "starting",
        "start_timeout",
        "start_error",
        "ready",
        "shutting_down",
        "shutdown_timeout",
        "shutdown_error",
        "off",
      ])
      .default("created"),
    startedAt: moment().nullable(),
    readyAt: moment().nullable(),
    firstConnectedAt: moment().nullable(),
    lastConnectedAt: moment().nullable(),
    /** When it reported that it ends. */
    disconnectedAt: moment().nullable(),
    logSourceId: p.uuid().defaultRaw("gen_random_uuid()"),
    logSequence: p.integer().default(0),
    /** Bytes. */
    logsLength: p.integer().default(0),
    logsOverflowed: p.boolean().default(false),
    /** The latest report on memory and disk; null before the first. */
    usage: p.json<AgentUsage>().nullable(),
  },
});
export class WorkspaceAgent extends WorkspaceAgentSchema.class {}
WorkspaceAgentSchema.setClass(WorkspaceAgent);

/** Applications that agents serve, and links to others. */
export const WorkspaceAppSchema = defineEntity({
  name: "WorkspaceApp",
  tableName: "workspace_apps",
  extends: BaseSchema,
  uniques: [{ name: "workspace_apps_slug_unique", properties: ["agent", "slug"] }],
  properties: {
    agent: () => p.manyToOne(WorkspaceAgent).ref().deleteRule("cascade").index(false),
    /** Place in the report. */
    position: p.integer().default(0),
    slug: p.string().length(longestName),
    displayName: p.string().length(longestLabel).default(""),
    icon: p.string().length(longestUrl).default(""),
    /** URL at which the agent reaches the application; empty if none. */
    url: p.string().length(longestUrl).default(""),
    /** The command that terminals run; empty if the app has a URL. */
    command: p.string().length(longestPath).default(""),
    /** Whether clients open the URL by themselves. */
    isExternal: p.boolean().default(false),
    groupName: p.string().length(longestLabel).default(""),
    isHidden: p.boolean().default(false),
    openIn: p.enum(["slim-window", "tab"]).default("slim-window"),
    sharingLevel: p.enum(["owner", "authenticated", "organization", "public"]).default("owner"),
    isOnSubdomain: p.boolean().default(false),
    tooltip: p.string().length(2048).default(""),
    health: p.enum(["disabled", "initializing", "healthy", "unhealthy"]).default("disabled"),
    /** Empty without a health check. */
    healthcheckUrl: p.string().length(longestUrl).default(""),
    /** Seconds between checks. */
    healthcheckInterval: p.integer().default(5),
    /** Failures in a row after which it is unhealthy. */
    healthcheckThreshold: p.integer().default(3),
  },
});
export class WorkspaceApp extends WorkspaceAppSchema.class {}
WorkspaceAppSchema.setClass(WorkspaceApp);

/** Reports of programs about their work in an app: the newest 100 per app. */
export const WorkspaceAppStatusSchema = defineEntity({
  name: "WorkspaceAppStatus",
  tableName: "workspace_app_statuses",
  indexes: [
    { name: "workspace_app_statuses_app_index", properties: ["app", "createdAt", "id"] },
    { name: "workspace_app_statuses_workspace_index", properties: ["workspace", "createdAt", "id"] },
  ],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    workspace: () => p.manyToOne(Workspace).ref().deleteRule("cascade").index(false),
    agent: () => p.manyToOne(WorkspaceAgent).ref().deleteRule("cascade").index("workspace_app_statuses_agent_index"),
    app: () => p.manyToOne(WorkspaceApp).ref().deleteRule("cascade").index(false),
    state: p.enum(["working", "idle", "complete", "failed"]),
    message: p.string().length(longestStatusMessage).default(""),
    uri: p.string().length(longestUrl).default(""),
  },
});
export class WorkspaceAppStatus extends WorkspaceAppStatusSchema.class {}
WorkspaceAppStatusSchema.setClass(WorkspaceAppStatus);

/** Scripts that agents run. Each is a source of logs. */
export const WorkspaceScriptSchema = defineEntity({
  name: "WorkspaceScript",
  tableName: "workspace_scripts",
  indexes: [{ name: "workspace_scripts_agent_index", properties: ["agent", "position"] }],
  properties: {
    id: p.uuid().primary(),
    createdAt: moment(),
    agent: () => p.manyToOne(WorkspaceAgent).ref().deleteRule("cascade").index(false),
    position: p.integer(),
    displayName: p.string().length(longestLabel),
    script: p.text(),
    cron: p.string().length(128).default(""),
    logPath: p.string().length(longestPath).default(""),
    logSourceId: p.uuid(),
    runOnStart: p.boolean().default(false),
    runOnStop: p.boolean().default(false),
    startBlocksLogin: p.boolean().default(false),
    /** Seconds; 0 sets no limit. */
    timeout: p.integer().default(0),
    exitCode: p.integer().nullable(),
    status: p.enum(["ok", "exit_failure", "timed_out", "pipes_left_open"]).nullable(),
    /** When the last run began and ended, by the clock of the agent. */
    startedAt: moment().nullable(),
    endedAt: moment().nullable(),
  },
});
export class WorkspaceScript extends WorkspaceScriptSchema.class {}
WorkspaceScriptSchema.setClass(WorkspaceScript);

export const WorkspaceAgentLogSchema = defineEntity({
  name: "WorkspaceAgentLog",
  tableName: "workspace_agent_logs",
  properties: {
    agent: () => p.manyToOne(WorkspaceAgent).ref().primary().deleteRule("cascade"),
    sequence: p.integer().primary(),
    id: p.uuid(),
    createdAt: moment(),
    level: p.enum(["trace", "debug", "info", "warn", "error"]),
    logSourceId: p.uuid(),
    output: p.text(),
  },
});
export class WorkspaceAgentLog extends WorkspaceAgentLogSchema.class {}
WorkspaceAgentLogSchema.setClass(WorkspaceAgentLog);
