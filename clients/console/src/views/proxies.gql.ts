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
export const CreateProxy = operation<CreateProxyMutation, CreateProxyMutationVariables>("mutation CreateProxy($input: CreateWorkspaceProxyInput!) { createWorkspaceProxy(input: $input) { proxyToken workspaceProxy { id name } } }", {"displayName":{"type":"String","hint":"Display name, at most 64 characters. Default: empty."},"icon":{"type":"String","hint":"URL of an icon: an http or https URL, a path on this server, or empty. Default: empty."},"name":{"type":"String","hint":"Unique name, at most 32 letters, digits, and single hyphens between them; not `primary`.","isRequired":true}});
export const UpdateProxy = operation<UpdateProxyMutation, UpdateProxyMutationVariables>("mutation UpdateProxy($input: UpdateWorkspaceProxyInput!) { updateWorkspaceProxy(input: $input) { proxyToken workspaceProxy { id name } } }", {"displayName":{"type":"String","hint":"New display name, at most 64 characters."},"icon":{"type":"String","hint":"New URL of an icon: an http or https URL, a path on this server, or empty."},"id":{"type":"UUID","hint":"If given, must be the ID of the proxy."},"name":{"type":"String","hint":"New name, at most 32 characters, not `primary`; empty to keep the name."},"regenerateToken":{"type":"Boolean","hint":"Whether to revoke the token and create a new one. Default: false."},"workspaceProxy":{"type":"String","hint":"The workspace proxy: ID, name (case-insensitive), or `primary`. The primary proxy cannot be renamed and has no token.","isRequired":true}});
export const DeleteProxy = operation<DeleteProxyMutation, DeleteProxyMutationVariables>("mutation DeleteProxy($input: DeleteWorkspaceProxyInput!) { deleteWorkspaceProxy(input: $input) { workspaceProxy { id } } }", {"workspaceProxy":{"type":"String","hint":"The workspace proxy: ID, name (case-insensitive), or `primary`.","isRequired":true}});