// Generated from proxies.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CreateWorkspaceProxyInput = {
  displayName?: string | null | undefined;
  icon?: string | null | undefined;
  name: string;
};

export type DeleteWorkspaceProxyInput = {
  workspaceProxy: string;
};

export type ProxyStatus =
  | 'OK'
  | 'UNHEALTHY'
  | 'UNREACHABLE'
  | 'UNREGISTERED';

export type UpdateWorkspaceProxyInput = {
  displayName?: string | null | undefined;
  icon?: string | null | undefined;
  id?: string | null | undefined;
  name?: string | null | undefined;
  regenerateToken?: boolean | null | undefined;
  workspaceProxy: string;
};

export type ProxiesQueryVariables = Exact<{ [key: string]: never; }>;


export type ProxiesQuery = { workspaceProxies: Array<{ id: string, name: string, displayName: string, icon: string, pathAppUrl: string, wildcardHostname: string, version: string, healthy: boolean, createdAt: string, status: { status: ProxyStatus | null, checkedAt: string | null, report: { errors: Array<string>, warnings: Array<string> } | null }, replicas: Array<{ id: string, hostname: string, lastSeenAt: string }> }> };

export type CreateProxyMutationVariables = Exact<{
  input: CreateWorkspaceProxyInput;
}>;


export type CreateProxyMutation = { createWorkspaceProxy: { proxyToken: string, workspaceProxy: { id: string, name: string } } };

export type UpdateProxyMutationVariables = Exact<{
  input: UpdateWorkspaceProxyInput;
}>;


export type UpdateProxyMutation = { updateWorkspaceProxy: { proxyToken: string | null, workspaceProxy: { id: string, name: string } } };

export type DeleteProxyMutationVariables = Exact<{
  input: DeleteWorkspaceProxyInput;
}>;


export type DeleteProxyMutation = { deleteWorkspaceProxy: { workspaceProxy: { id: string } } };

export const Proxies = operation<ProxiesQuery, ProxiesQueryVariables>("query Proxies { workspaceProxies { id name displayName icon pathAppUrl wildcardHostname version healthy createdAt status { status checkedAt report { errors warnings } } replicas { id hostname lastSeenAt } } }");
export const CreateProxy = operation<CreateProxyMutation, CreateProxyMutationVariables>("mutation CreateProxy($input: CreateWorkspaceProxyInput!) { createWorkspaceProxy(input: $input) { proxyToken workspaceProxy { id name } } }", {"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"icon":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them","isRequired":true}});
export const UpdateProxy = operation<UpdateProxyMutation, UpdateProxyMutationVariables>("mutation UpdateProxy($input: UpdateWorkspaceProxyInput!) { updateWorkspaceProxy(input: $input) { proxyToken workspaceProxy { id name } } }", {"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"icon":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"id":{"type":"UUID"},"name":{"type":"String","limits":{"maxLength":32,"pattern":"^$|^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"},"regenerateToken":{"type":"Boolean"},"workspaceProxy":{"type":"String","kind":"reference","isRequired":true}});
export const DeleteProxy = operation<DeleteProxyMutation, DeleteProxyMutationVariables>("mutation DeleteProxy($input: DeleteWorkspaceProxyInput!) { deleteWorkspaceProxy(input: $input) { workspaceProxy { id } } }", {"workspaceProxy":{"type":"String","kind":"reference","isRequired":true}});