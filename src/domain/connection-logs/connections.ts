import { ConnectionLog } from "../../entities/connection-logs.js";
import { columnsOf, type RowOf } from "../kernel/columns.js";

/** Ways to connect to a workspace. */
export const ConnectionType = {
  SSH: "ssh",
  VSCODE: "vscode",
  JETBRAINS: "jetbrains",
  RECONNECTING_PTY: "reconnecting_pty",
  WORKSPACE_APP: "workspace_app",
  PORT_FORWARDING: "port_forwarding",
} as const;
export type ConnectionType = (typeof ConnectionType)[keyof typeof ConnectionType];

/** Sessions, which agents report. */
export const sessionTypes: readonly ConnectionType[] = ["ssh", "vscode", "jetbrains", "reconnecting_pty"];

/** Visits with a browser, which proxies report. */
export const webTypes: readonly ConnectionType[] = ["workspace_app", "port_forwarding"];

/** The columns of a `ConnectionLogRow`, for statements with the table alias `l`. */
export const columns = columnsOf(ConnectionLog, "l", [
  "id",
  "type",
  "connectTime",
  "ip",
  "organizationId",
  "workspaceId",
  "workspaceName",
  "workspaceOwnerId",
  "agentName",
  "connectionId",
  "disconnectTime",
  "disconnectReason",
  "exitCode",
  "slugOrPort",
  "statusCode",
  "userId",
  "userAgent",
]);

/** A connection in the log. Its workspace name and owner are those at the time of the report. */
export type ConnectionLogRow = RowOf<typeof columns>;
