import { defineEntity, p } from "@mikro-orm/core";
import { BaseSchema, moment } from "./base.js";
import { longestHostname, longestLabel, longestName, longestUrl, longestVersion } from "./lengths.js";

/** Servers that carry the traffic of workspace applications, with their last health check. */
export const WorkspaceProxySchema = defineEntity({
  name: "WorkspaceProxy",
  tableName: "workspace_proxies",
  extends: BaseSchema,
  uniques: [
    {
      name: "workspace_proxies_name_unique",
      expression:
        "create unique index workspace_proxies_name_unique on workspace_proxies (lower(name)) where deleted_at is null",
    },
    { name: "workspace_proxies_token_unique", properties: ["tokenHash"] },
  ],
  properties: {
    name: p.string().length(longestName),
    displayName: p.string().length(longestLabel).default(""),
    icon: p.string().length(longestUrl).default(""),
    /** SHA-256 of the token after its `stwp_` prefix. */
    tokenHash: p.type("bytea").$type<Buffer>(),
    /** As reported at registration; empty until then. */
    accessUrl: p.string().length(longestUrl).default(""),
    wildcardHostname: p.string().length(longestHostname).default(""),
    derpEnabled: p.boolean().default(true),
    derpOnly: p.boolean().default(false),
    version: p.string().length(longestVersion).default(""),
    /** Number of registrations. Results of checks of an earlier registration are discarded. */
    registration: p.integer().default(0),
    /** Time of the next check; null until the proxy registers. */
    checkDueAt: moment().nullable(),
    status: p.enum(["unregistered", "ok", "unhealthy", "unreachable"]).default("unregistered"),
    errors: p.array().default([]),
    warnings: p.array().default([]),
    checkedAt: moment().nullable(),
    deletedAt: moment().nullable(),
  },
});
export class WorkspaceProxy extends WorkspaceProxySchema.class {}
WorkspaceProxySchema.setClass(WorkspaceProxy);

/** Replicas of workspace proxies. */
export const WorkspaceProxyReplicaSchema = defineEntity({
  name: "WorkspaceProxyReplica",
  tableName: "workspace_proxy_replicas",
  properties: {
    proxy: () => p.manyToOne(WorkspaceProxy).ref().primary().deleteRule("cascade"),
    /** Chosen by the replica. */
    id: p.uuid().primary(),
    hostname: p.string().length(longestHostname),
    version: p.string().length(longestVersion),
    createdAt: moment(),
    lastSeenAt: moment().index("workspace_proxy_replicas_seen_index"),
  },
});
export class WorkspaceProxyReplica extends WorkspaceProxyReplicaSchema.class {}
WorkspaceProxyReplicaSchema.setClass(WorkspaceProxyReplica);
