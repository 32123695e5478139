import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";

/** Columns of the list order. Each filter of the log has an index in this order. */
const byTime = (name: string, columns = "", condition = "") => ({
  name: `connection_logs_${name}_index`,
  expression: `create index connection_logs_${name}_index on connection_logs (${columns}connect_time, id)${condition}`,
});

const ongoing = " where disconnect_time is null and connection_id is not null";

/**
 * Connections to workspaces. Names are copied at the time of the connection, since rows outlive the objects they refer
 * to. Sessions have a `connection_id`; visits do not.
 */
export const ConnectionLogSchema = defineEntity({
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
    /** ID of the agent or proxy that reported the connection. */
    reporter: p.uuid(),
    /** ID of a visit, chosen by the reporter. Sessions are identified by their connection. */
    eventId: p.uuid().nullable(),

    connectionId: p.uuid().nullable(),
    /** Whether the start of a session was reported. If not, its time is that of its end. */
    isConnectReported: p.boolean().default(false),
    disconnectTime: moment().nullable(),
    disconnectReason: p.string().length(512).nullable(),
    exitCode: p.integer().nullable(),

    /** Slug of an application, or number of a port. */
    slugOrPort: p.string().length(32).nullable(),
    statusCode: p.smallint().nullable(),
    userId: p.uuid().nullable(),
    userAgent: p.string().length(512).nullable(),
  },
});
export class ConnectionLog extends ConnectionLogSchema.class {}
ConnectionLogSchema.setClass(ConnectionLog);
