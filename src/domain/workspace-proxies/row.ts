/** The result of the last health check of a proxy. */
export const ProxyStatus = {
  OK: "ok",
  UNHEALTHY: "unhealthy",
  UNREACHABLE: "unreachable",
  UNREGISTERED: "unregistered",
} as const;
export type ProxyStatus = (typeof ProxyStatus)[keyof typeof ProxyStatus];

/** The report of a proxy, or the error that prevented it. */
export interface ProxyReport {
  errors: string[];
  warnings: string[];
}

export interface WorkspaceProxyStatus {
  status: ProxyStatus | null;
  checkedAt: string | null;
  report: ProxyReport | null;
}

/** A server that proxies the traffic of applications. The deployment itself is the primary one. */
export interface WorkspaceProxyRow {
  id: string;
  createdAt: string;
  updatedAt: string;
  name: string;
  displayName: string;
  icon: string;
  /** Empty before registration, like `wildcardHostname` and `version`. */
  pathAppUrl: string;
  wildcardHostname: string;
  derpEnabled: boolean;
  derpOnly: boolean;
  version: string;
  healthy: boolean;
  deleted: boolean;
  /** All properties are null for a deleted proxy. */
  status: WorkspaceProxyStatus;
}
