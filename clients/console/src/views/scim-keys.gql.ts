// Generated from scim-keys.graphql by `npm run console:types`.
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

export type CreateScimKeyInput = {
  expiresAt?: string | null | undefined;
  name: string;
  organizationIds?: Array<string> | null | undefined;
  source?: string | null | undefined;
};

export type RevokeScimKeyInput = {
  id: string;
};

export type UpdateScimKeyInput = {
  expiresAt?: string | null | undefined;
  id: string;
  name?: string | null | undefined;
};

export type ScimKeysQueryVariables = Exact<{ [key: string]: never; }>;


export type ScimKeysQuery = { scimKeys: { nodes: Array<{ id: string, name: string, source: string, createdAt: string, expiresAt: string | null, lastUsedAt: string | null, lastUsedIp: string | null, organizations: Array<{ id: string, name: string, displayName: string }> }> } };

export type ScimRequestsQueryVariables = Exact<{
  key: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ScimRequestsQuery = { scimRequests: { totalCount: number, nodes: Array<{ id: string, time: string, method: string, path: string, status: number, detail: string | null, requestId: string }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type ScimChangesQueryVariables = Exact<{
  key: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ScimChangesQuery = { auditEvents: { totalCount: number, nodes: Array<{ id: string, time: string, action: AuditAction, resourceType: string, resourceLabel: string | null, ip: string | null, requestId: string }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type CreateScimKeyMutationVariables = Exact<{
  input: CreateScimKeyInput;
}>;


export type CreateScimKeyMutation = { createScimKey: { secret: string, scimKey: { id: string, name: string } } };

export type UpdateScimKeyMutationVariables = Exact<{
  input: UpdateScimKeyInput;
}>;


export type UpdateScimKeyMutation = { updateScimKey: { scimKey: { id: string } } };

export type RevokeScimKeyMutationVariables = Exact<{
  input: RevokeScimKeyInput;
}>;


export type RevokeScimKeyMutation = { revokeScimKey: { scimKey: { id: string } } };

export type ScimSetupQueryVariables = Exact<{ [key: string]: never; }>;


export type ScimSetupQuery = { serverInfo: { accessUrl: string }, scimKeys: { nodes: Array<{ id: string, lastUsedAt: string | null, lastUsedIp: string | null }> } };

export const ScimKeys = operation<ScimKeysQuery, ScimKeysQueryVariables>("query ScimKeys { scimKeys { nodes { id name source createdAt expiresAt lastUsedAt lastUsedIp organizations { id name displayName } } } }");
export const ScimRequests = operation<ScimRequestsQuery, ScimRequestsQueryVariables>("query ScimRequests($key: String!, $first: Int, $after: String, $last: Int, $before: String) { scimRequests( key: $key first: $first after: $after last: $last before: $before ) { totalCount nodes { id time method path status detail requestId } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const ScimChanges = operation<ScimChangesQuery, ScimChangesQueryVariables>("query ScimChanges($key: String!, $first: Int, $after: String, $last: Int, $before: String) { auditEvents( filter: {scimKey: $key} first: $first after: $after last: $last before: $before ) { totalCount nodes { id time action resourceType resourceLabel ip requestId } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const CreateScimKey = operation<CreateScimKeyMutation, CreateScimKeyMutationVariables>("mutation CreateScimKey($input: CreateScimKeyInput!) { createScimKey(input: $input) { secret scimKey { id name } } }", {"expiresAt":{"type":"DateTime"},"name":{"type":"String","limits":{"maxLength":64},"words":"1 to 64 characters","isRequired":true},"organizationIds":{"type":"UUID","limits":{"minItems":1,"maxItems":100},"isList":true},"source":{"type":"String","limits":{"pattern":"^[A-Za-z0-9_.-]{1,64}$"}}});
export const UpdateScimKey = operation<UpdateScimKeyMutation, UpdateScimKeyMutationVariables>("mutation UpdateScimKey($input: UpdateScimKeyInput!) { updateScimKey(input: $input) { scimKey { id } } }", {"expiresAt":{"type":"DateTime"},"id":{"type":"String","kind":"reference","isRequired":true},"name":{"type":"String","limits":{"maxLength":64},"words":"1 to 64 characters"}});
export const RevokeScimKey = operation<RevokeScimKeyMutation, RevokeScimKeyMutationVariables>("mutation RevokeScimKey($input: RevokeScimKeyInput!) { revokeScimKey(input: $input) { scimKey { id } } }", {"id":{"type":"String","kind":"reference","isRequired":true}});
export const ScimSetup = operation<ScimSetupQuery, ScimSetupQueryVariables>("query ScimSetup { serverInfo { accessUrl } scimKeys { nodes { id lastUsedAt lastUsedIp } } }");