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
export const JoinOrganization = operation<JoinOrganizationMutation, JoinOrganizationMutationVariables>("mutation JoinOrganization($input: AddOrganizationMemberInput!) { addOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","hint":"The organization: ID, name, or `default`.","kind":"reference","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const LeaveOrganization = operation<LeaveOrganizationMutation, LeaveOrganizationMutationVariables>("mutation LeaveOrganization($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","hint":"The organization: ID, name, or `default`.","kind":"reference","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const SetRolesThere = operation<SetRolesThereMutation, SetRolesThereMutationVariables>("mutation SetRolesThere($input: SetOrganizationMemberRolesInput!) { setOrganizationMemberRoles(input: $input) { member { id } } }", {"organization":{"type":"String","hint":"The organization: ID, name, or `default`.","kind":"reference","isRequired":true},"roles":{"type":"RoleName","hint":"Replaces all roles held in the organization.","kind":"choice","isRequired":true,"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const ChangeGroupOfUser = operation<ChangeGroupOfUserMutation, ChangeGroupOfUserMutationVariables>("mutation ChangeGroupOfUser($input: UpdateGroupInput!) { updateGroup(input: $input) { group { id } } }", {"addUsers":{"type":"UUID","hint":"IDs of users to add, at most 1000. They must be members of the organization. They get all that the group has: its quota, its AI budget, and its roles on templates and workspaces.","limits":{"maxItems":1000},"isList":true},"avatarUrl":{"type":"String","hint":"New URL or path of the avatar, or empty for none.","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"displayName":{"type":"String","hint":"New display name, at most 64 characters.","limits":{"maxLength":64},"words":"at most 64 characters"},"group":{"type":"String","hint":"The group: ID, or a name that matches only one group the caller may read.","kind":"reference","isRequired":true},"name":{"type":"String","hint":"New name, unique in the organization; empty to keep it.","limits":{"maxLength":36,"pattern":"^$|^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 36 letters, digits, and single hyphens between them"},"quotaAllowance":{"type":"Int","hint":"Credits that the group adds to the workspace quota of each member.","limits":{"minimum":0,"maximum":2147483647},"words":"at least 0"},"removeUsers":{"type":"UUID","hint":"IDs of users to remove, at most 1000. Removals are applied after additions.","limits":{"maxItems":1000},"isList":true}});
export const LogOfUser = operation<LogOfUserQuery, LogOfUserQueryVariables>("query LogOfUser($id: String!, $user: String!) { changes: auditEvents(first: 8, filter: {resourceId: $id, resourceType: \"user\"}) { nodes { id time action actorId actorUsername actorKind diff } } actions: auditEvents(first: 8, filter: {actor: $user}) { nodes { id time action resourceType resourceLabel ip } } }");