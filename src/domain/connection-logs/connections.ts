/** How somebody connects to a workspace. */
export const ConnectionType = {
  SSH: "ssh",
  VSCODE: "vscode",
  JETBRAINS: "jetbrains",
  RECONNECTING_PTY: "reconnecting_pty",
  WORKSPACE_APP: "workspace_app",
  PORT_FORWARDING: "port_forwarding",
} as const;
export type ConnectionType = (typeof ConnectionType)[keyof typeof ConnectionType];

/** Those that last, and that agents report. */
export const sessionTypes: readonly ConnectionType[] = ["ssh", "vscode", "jetbrains", "reconnecting_pty"];

/** Visits with a browser, which proxies report. */
export const webTypes: readonly ConnectionType[] = ["workspace_app", "port_forwarding"];

/** A connection to a workspace, as readers of the log see it. What it tells of the workspace is as it was then. */
export interface ConnectionLogRow {
  id: string;
  type: ConnectionType;
  connectTime: string;
  /** Null if it is not known. */
  ip: string | null;
  organizationId: string;
  workspaceId: string;
  workspaceName: string;
  workspaceOwnerId: string;
  agentName: string;

  /** Sessions only, as far as the next four. Their end is null until it is reported. */
  connectionId: string | null;
  disconnectTime: string | null;
  disconnectReason: string | null;
  exitCode: number | null;

  /** Visits only, as the next three. */
  slugOrPort: string | null;
  statusCode: number | null;
  /** Null for anonymous visitors. */
  userId: string | null;
  userAgent: string | null;
}
