// Generated from user-access.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AddOrganizationMemberInput = {
  organization: string;
  user: string;
};

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

export type RemoveOrganizationMemberInput = {
  organization: string;
  user: string;
};

export type RoleName =
  | 'AUDITOR'
  | 'MEMBER'
  | 'ORGANIZATION_ADMIN'
  | 'ORGANIZATION_AUDITOR'
  | 'ORGANIZATION_MEMBER'
  | 'ORGANIZATION_TEMPLATE_ADMIN'
  | 'ORGANIZATION_USER_ADMIN'
  | 'OWNER'
  | 'TEMPLATE_ADMIN'
  | 'USER_ADMIN';

export type SetOrganizationMemberRolesInput = {
  organization: string;
  roles: Array<RoleName>;
  user: string;
};

export type UpdateGroupInput = {
  addUsers?: Array<string> | null | undefined;
  avatarUrl?: string | null | undefined;
  displayName?: string | null | undefined;
  group: string;
  name?: string | null | undefined;
  quotaAllowance?: number | null | undefined;
  removeUsers?: Array<string> | null | undefined;
};

export type GroupsToJoinQueryVariables = Exact<{ [key: string]: never; }>;


export type GroupsToJoinQuery = { groups: { nodes: Array<{ id: string, name: string, displayName: string, isEveryone: boolean, organization: { id: string, name: string } }> } };

export type JoinOrganizationMutationVariables = Exact<{
  input: AddOrganizationMemberInput;
}>;


export type JoinOrganizationMutation = { addOrganizationMember: { member: { id: string } } };

export type LeaveOrganizationMutationVariables = Exact<{
  input: RemoveOrganizationMemberInput;
}>;


export type LeaveOrganizationMutation = { removeOrganizationMember: { member: { id: string } } };

export type SetRolesThereMutationVariables = Exact<{
  input: SetOrganizationMemberRolesInput;
}>;


export type SetRolesThereMutation = { setOrganizationMemberRoles: { member: { id: string } } };

export type ChangeGroupOfUserMutationVariables = Exact<{
  input: UpdateGroupInput;
}>;


export type ChangeGroupOfUserMutation = { updateGroup: { group: { id: string } } };

export type LogOfUserQueryVariables = Exact<{
  id: string;
  user: string;
}>;


export type LogOfUserQuery = { changes: { nodes: Array<{ id: string, time: string, action: AuditAction, actorId: string | null, actorUsername: string | null, actorKind: string, diff: Record<string, unknown> }> }, actions: { nodes: Array<{ id: string, time: string, action: AuditAction, resourceType: string, resourceLabel: string | null, ip: string | null }> } };

export const GroupsToJoin = operation<GroupsToJoinQuery, GroupsToJoinQueryVariables>("query GroupsToJoin { groups(first: 200) { nodes { id name displayName isEveryone organization { id name } } } }");
export const JoinOrganization = operation<JoinOrganizationMutation, JoinOrganizationMutationVariables>("mutation JoinOrganization($input: AddOrganizationMemberInput!) { addOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true}});
export const LeaveOrganization = operation<LeaveOrganizationMutation, LeaveOrganizationMutationVariables>("mutation LeaveOrganization($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true}});
export const SetRolesThere = operation<SetRolesThereMutation, SetRolesThereMutationVariables>("mutation SetRolesThere($input: SetOrganizationMemberRolesInput!) { setOrganizationMemberRoles(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"roles":{"type":"RoleName","kind":"choice","isRequired":true,"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"user":{"type":"String","kind":"reference","isRequired":true}});
export const ChangeGroupOfUser = operation<ChangeGroupOfUserMutation, ChangeGroupOfUserMutationVariables>("mutation ChangeGroupOfUser($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }", {"addUsers":{"type":"UUID","limits":{"maxItems":1000},"isList":true},"avatarUrl":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"group":{"type":"String","kind":"reference","isRequired":true},"name":{"type":"String","limits":{"maxLength":36,"pattern":"^$|^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 36 letters, digits, and single hyphens between them"},"quotaAllowance":{"type":"Int","limits":{"minimum":0,"maximum":2147483647},"words":"at least 0"},"removeUsers":{"type":"UUID","limits":{"maxItems":1000},"isList":true}});
export const LogOfUser = operation<LogOfUserQuery, LogOfUserQueryVariables>("query LogOfUser($id: String!, $user: String!) { changes: auditEvents(first: 8, filter: {resourceId: $id, resourceType: \"user\"}) { nodes { id time action actorId actorUsername actorKind diff } } actions: auditEvents(first: 8, filter: {actor: $user}) { nodes { id time action resourceType resourceLabel ip } } }");