/** What the last check of a proxy found. */
export const ProxyStatus = {
  OK: "ok",
  UNHEALTHY: "unhealthy",
  UNREACHABLE: "unreachable",
  UNREGISTERED: "unregistered",
} as const;
export type ProxyStatus = (typeof ProxyStatus)[keyof typeof ProxyStatus];

/** What a proxy says of itself, and what kept it from saying so. */
export interface ProxyReport {
  errors: string[];
  warnings: string[];
}

export interface WorkspaceProxyStatus {
  status: ProxyStatus | null;
  checkedAt: string | null;
  report: ProxyReport | null;
}

/** A server that carries the traffic of applications. The first of them is the deployment itself. */
export interface WorkspaceProxyRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  name: string;
  displayName: string;
  icon: string;
  /** Empty before it registers, as the wildcard and the version. */
  pathAppUrl: string;
  wildcardHostname: string;
  derpEnabled: boolean;
  derpOnly: boolean;
  version: string;
  healthy: boolean;
  deleted: boolean;
  /** Of a deleted proxy nothing is known. */
  status: WorkspaceProxyStatus;
}
