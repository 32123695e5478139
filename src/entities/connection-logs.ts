import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** Newest first, and from either end: each way to narrow the log down has an index in this order. */
const byTime = (name: string, columns = "", condition = "") => ({
  name: `connection_logs_${name}_index`,
  expression: `create index connection_logs_${name}_index on connection_logs (${columns}connect_time desc, id desc)${condition}`,
});

const ongoing = " where disconnect_time is null and connection_id is not null";

/**
 * Who connected to which workspace. What it tells of the workspace is as it was then: rows outlive what they tell of.
 * Sessions have a `connection_id`, visits by web have none.
 */
const ConnectionLogSchema = defineEntity({
  name: "ConnectionLog",
  tableName: "connection_logs",
  uniques: [
    {
      name: "connection_logs_session_unique",
      expression:
        "create unique index connection_logs_session_unique on connection_logs (connection_id, workspace_id, agent_name) where connection_id is not null",
    },
    {
      name: "connection_logs_event_unique",
      expression:
        "create unique index connection_logs_event_unique on connection_logs (reporter, event_id) where event_id is not null",
    },
  ],
  indexes: [
    byTime("time"),
    byTime("organization", "organization_id, "),
    byTime("type", "type, "),
    byTime("organization_type", "organization_id, type, "),
    byTime("workspace", "workspace_id, "),
    byTime("owner", "workspace_owner_id, "),
    byTime("user", "user_id, ", " where user_id is not null"),
    byTime("ongoing", "", ongoing),
    byTime("organization_ongoing", "organization_id, ", ongoing),
  ],
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    workspaceId: p.uuid(),
    workspaceName: p.string().length(32),
    workspaceOwnerId: p.uuid(),
    agentName: p.string().length(32),
    type: p.enum(["ssh", "vscode", "jetbrains", "reconnecting_pty", "workspace_app", "port_forwarding"]),
    connectTime: moment(),
    ip: p.string().length(45).nullable(),
    /** The agent or proxy that reported it. */
    reporter: p.uuid(),
    /** The reporter's id of a visit; sessions are known again by their connection. */
    eventId: p.uuid().nullable(),

    connectionId: p.uuid().nullable(),
    /** Whether the beginning of a session was reported; until then its time is that of the end. */
    isConnectReported: p.boolean().default(false),
    disconnectTime: moment().nullable(),
    disconnectReason: p.string().length(512).nullable(),
    exitCode: p.integer().nullable(),

    /** The slug of an app, or a port. */
    slugOrPort: p.string().length(32).nullable(),
    statusCode: p.smallint().nullable(),
    userId: p.uuid().nullable(),
    userAgent: p.string().length(512).nullable(),
  },
});
export class ConnectionLog extends ConnectionLogSchema.class {}
ConnectionLogSchema.setClass(ConnectionLog);
