import { defineEntity, p } from "@mikro-orm/core";
import { moment } from "./base.js";
import { longestEmail, longestName } from "./lengths.js";

/** Columns of the list order. Each filter of the log has an index in this order, but for emails: those of two columns share one. */
const byTime = (name: string, columns = "", condition = "") => ({
  name: `connection_log_${name}_index`,
  expression: `create index connection_log_${name}_index on connection_log (${columns}connect_time, id)${condition}`,
});

/**
 * Connections to workspaces. Names are copied at the time of the connection, since rows outlive the objects they refer
 * to. Sessions have a `connection_id`; visits do not. Partitioned by month (`infrastructure/database/months.ts`): within a partition,
 * sessions are unique by connection, workspace, and agent, and visits by reporter and event. `recording.ts` sees to the
 * rest. A page locks all indexes of two months: there must be no more. A trigger gives what is reported late an id of its time.
 */
export const ConnectionLogSchema = defineEntity({
  name: "ConnectionLog",
  tableName: "connection_log",
  indexes: [
    byTime("time"),
    byTime("organization", "organization_id, "),
    byTime("type", "type, "),
    byTime("workspace", "workspace_id, "),
    byTime("owner", "workspace_owner_id, "),
    byTime("user", "user_id, ", " where user_id is not null"),
    byTime("owner_username", 'lower(workspace_owner_username collate "C"), '),
    byTime("username", 'lower(username collate "C"), ', " where username is not null"),
    byTime("ongoing", "", " where disconnect_time is null and connection_id is not null"),
    {
      name: "connection_log_emails_index",
      expression:
        'create index connection_log_emails_index on connection_log using gin ((array[lower(workspace_owner_email collate "C"), lower(user_email collate "C")])) with (fastupdate = off)',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    organizationId: p.uuid(),
    workspaceId: p.uuid(),
    workspaceName: p.string().length(longestName),
    workspaceOwnerId: p.uuid(),
    /** The names of the owner and of the visitor at that time, set by a trigger. Empty if they were not known. */
    workspaceOwnerUsername: p.string().length(longestName).nullable(),
    workspaceOwnerEmail: p.string().length(longestEmail).nullable(),
    agentName: p.string().length(longestName),
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
    /** Whether no agent has reported the end, which is that of the agent or its workspace. */
    isEndDerived: p.boolean().default(false),

    /** Slug of an application, or number of a port. */
    slugOrPort: p.string().length(longestName).nullable(),
    statusCode: p.smallint().nullable(),
    userId: p.uuid().nullable(),
    username: p.string().length(longestName).nullable(),
    userEmail: p.string().length(longestEmail).nullable(),
    userAgent: p.string().length(512).nullable(),
  },
});
export class ConnectionLog extends ConnectionLogSchema.class {}
ConnectionLogSchema.setClass(ConnectionLog);
