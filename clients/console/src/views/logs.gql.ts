// Generated from logs.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AuditAction =
  | 'AUTHORIZE'
  | 'CREATE'
  | 'DELETE'
  | 'DELIVER'
  | 'DENY'
  | 'LOGIN'
  | 'LOGIN_FAILED'
  | 'LOGOUT'
  | 'REVOKE'
  | 'START'
  | 'STOP'
  | 'UPDATE';

export type AuditEventFilter = {
  action?: AuditAction | null | undefined;
  actor?: string | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
  organization?: string | null | undefined;
  resourceId?: string | null | undefined;
  resourceType?: string | null | undefined;
  scimKey?: string | null | undefined;
};

export type AuditEventOrder = {
  direction: OrderDirection;
  field: AuditEventOrderField;
};

export type AuditEventOrderField =
  | 'TIME';

export type ConnectionLogOrder = {
  direction: OrderDirection;
  field: ConnectionLogOrderField;
};

export type ConnectionLogOrderField =
  | 'CONNECT_TIME';

export type ConnectionType =
  | 'JETBRAINS'
  | 'PORT_FORWARDING'
  | 'RECONNECTING_PTY'
  | 'SSH'
  | 'VSCODE'
  | 'WORKSPACE_APP';

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type AuditLogQueryVariables = Exact<{
  filter?: AuditEventFilter | null | undefined;
  orderBy?: AuditEventOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type AuditLogQuery = { auditEvents: { totalCount: number, nodes: Array<{ id: string, time: string, action: AuditAction, actorId: string | null, actorKind: string, actorUsername: string | null, resourceType: string, resourceId: string | null, resourceLabel: string | null, organizationId: string | null, ip: string | null, userAgent: string | null, requestId: string, diff: Record<string, unknown> }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type ConnectionLogQueryVariables = Exact<{
  q?: string | null | undefined;
  orderBy?: ConnectionLogOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ConnectionLogQuery = { connectionLogs: { totalCount: number, nodes: Array<{ id: string, type: ConnectionType, ip: string | null, connectTime: string, agentName: string, workspaceId: string, workspaceName: string, workspaceOwner: { id: string, username: string, name: string }, sshInfo: { disconnectTime: string | null, disconnectReason: string | null, exitCode: number | null } | null, webInfo: { slugOrPort: string, statusCode: number | null, user: { id: string, username: string, name: string } | null } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export const AuditLog = operation<AuditLogQuery, AuditLogQueryVariables>("query AuditLog($filter: AuditEventFilter, $orderBy: AuditEventOrder, $first: Int, $after: String, $last: Int, $before: String) { auditEvents( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id time action actorId actorKind actorUsername resourceType resourceId resourceLabel organizationId ip userAgent requestId diff } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const ConnectionLog = operation<ConnectionLogQuery, ConnectionLogQueryVariables>("query ConnectionLog($q: String, $orderBy: ConnectionLogOrder, $first: Int, $after: String, $last: Int, $before: String) { connectionLogs( q: $q orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id type ip connectTime agentName workspaceId workspaceName workspaceOwner { id username name } sshInfo { disconnectTime disconnectReason exitCode } webInfo { slugOrPort statusCode user { id username name } } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");