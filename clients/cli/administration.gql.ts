// Generated from administration.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "./operation.js";
export type ApiKeyKind =
  | 'APPLICATION'
  | 'OAUTH'
  | 'SESSION'
  | 'TOKEN';

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

export type CreateApiKeyInput = {
  expiresAt?: string | null | undefined;
  name: string;
  scopes?: Array<string> | null | undefined;
  user?: string | null | undefined;
};

export type CreateGroupInput = {
  avatarUrl?: string | null | undefined;
  displayName?: string | null | undefined;
  name: string;
  organization: string;
  quotaAllowance?: number | null | undefined;
};

export type CreateUserInput = {
  email: string;
  isServiceAccount?: boolean | null | undefined;
  loginType?: LoginType | null | undefined;
  mustChangePassword?: boolean | null | undefined;
  name?: string | null | undefined;
  organizationIds?: Array<string> | null | undefined;
  password?: string | null | undefined;
  username: string;
};

export type GroupFilter = {
  hasMember?: string | null | undefined;
  ids?: Array<string> | null | undefined;
  organization?: string | null | undefined;
  search?: string | null | undefined;
  source?: GroupSource | null | undefined;
};

export type GroupSource =
  | 'OIDC'
  | 'USER';

export type InvitationDelivery =
  | 'LINK'
  | 'MAIL';

export type InviteUserInput = {
  delivery?: InvitationDelivery | null | undefined;
  email: string;
  groups?: Array<string> | null | undefined;
  loginType?: InvitedLogin | null | undefined;
  name?: string | null | undefined;
  organizations?: Array<InvitedOrganization> | null | undefined;
  roles?: Array<RoleName> | null | undefined;
};

export type InvitedLogin =
  | 'GITHUB'
  | 'OIDC'
  | 'PASSWORD';

export type InvitedOrganization = {
  organization: string;
  roles?: Array<RoleName> | null | undefined;
};

export type LoginType =
  | 'GITHUB'
  | 'NONE'
  | 'OIDC'
  | 'PASSWORD';

export type OAuth2AppKind =
  | 'ADMIN'
  | 'DOCUMENT'
  | 'DYNAMIC';

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

export type UpdateGroupInput = {
  addUsers?: Array<string> | null | undefined;
  avatarUrl?: string | null | undefined;
  displayName?: string | null | undefined;
  group: string;
  name?: string | null | undefined;
  quotaAllowance?: number | null | undefined;
  removeUsers?: Array<string> | null | undefined;
};

export type UserFilter = {
  createdAfter?: string | null | undefined;
  createdBefore?: string | null | undefined;
  lastSeenAfter?: string | null | undefined;
  lastSeenBefore?: string | null | undefined;
  loginType?: LoginType | null | undefined;
  organization?: string | null | undefined;
  role?: RoleName | null | undefined;
  search?: string | null | undefined;
  serviceAccount?: boolean | null | undefined;
  status?: UserStatus | null | undefined;
};

export type UserStatus =
  | 'ACTIVE'
  | 'SUSPENDED';

export type UserLineFragment = { id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> };

export type UsersQueryVariables = Exact<{
  filter?: UserFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type UsersQuery = { users: { totalCount: number, nodes: Array<{ id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> }> } };

export type UserQueryVariables = Exact<{
  user: string;
}>;


export type UserQuery = { user: { id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, organizations: Array<{ name: string }>, groups: { nodes: Array<{ name: string, organization: { name: string } }> }, roles: Array<{ name: RoleName }> } | null };

export type CreateUserMutationVariables = Exact<{
  input: CreateUserInput;
}>;


export type CreateUserMutation = { createUser: { user: { id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> } } };

export type InviteUserMutationVariables = Exact<{
  input: InviteUserInput;
}>;


export type InviteUserMutation = { inviteUser: { link: string | null, invitation: { id: string, email: string, expiresAt: string } } };

export type SuspendUserMutationVariables = Exact<{
  user: string;
}>;


export type SuspendUserMutation = { suspendUser: { user: { id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> } } };

export type ActivateUserMutationVariables = Exact<{
  user: string;
}>;


export type ActivateUserMutation = { activateUser: { user: { id: string, username: string, name: string, email: string, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> } } };

export type DeleteUserMutationVariables = Exact<{
  user: string;
}>;


export type DeleteUserMutation = { deleteUser: { user: { id: string, username: string } } };

export type GroupLineFragment = { id: string, name: string, displayName: string, source: GroupSource, quotaAllowance: number, totalMemberCount: number, organization: { name: string } };

export type GroupsQueryVariables = Exact<{
  filter?: GroupFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type GroupsQuery = { groups: { totalCount: number, nodes: Array<{ id: string, name: string, displayName: string, source: GroupSource, quotaAllowance: number, totalMemberCount: number, organization: { name: string } }> } };

export type GroupQueryVariables = Exact<{
  group: string;
}>;


export type GroupQuery = { group: { id: string, name: string, displayName: string, source: GroupSource, quotaAllowance: number, totalMemberCount: number, members: { nodes: Array<{ user: { username: string } }> }, organization: { name: string } } | null };

export type CreateGroupMutationVariables = Exact<{
  input: CreateGroupInput;
}>;


export type CreateGroupMutation = { createGroup: { group: { id: string, name: string, displayName: string, source: GroupSource, quotaAllowance: number, totalMemberCount: number, organization: { name: string } } } };

export type UpdateGroupMutationVariables = Exact<{
  input: UpdateGroupInput;
}>;


export type UpdateGroupMutation = { updateGroup: { group: { id: string, name: string, displayName: string, source: GroupSource, quotaAllowance: number, totalMemberCount: number, organization: { name: string } } } };

export type DeleteGroupMutationVariables = Exact<{
  group: string;
}>;


export type DeleteGroupMutation = { deleteGroup: { group: { id: string, name: string } } };

export type OrganizationsQueryVariables = Exact<{ [key: string]: never; }>;


export type OrganizationsQuery = { organizations: Array<{ id: string, name: string, displayName: string, isDefault: boolean, memberCount: number }> };

export type TokenLineFragment = { id: string, name: string, kind: ApiKeyKind, scopes: Array<string>, createdAt: string, expiresAt: string, lastUsedAt: string | null };

export type TokensQueryVariables = Exact<{
  user: string;
}>;


export type TokensQuery = { apiKeys: Array<{ id: string, name: string, kind: ApiKeyKind, scopes: Array<string>, createdAt: string, expiresAt: string, lastUsedAt: string | null }> };

export type CreateTokenMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateTokenMutation = { createApiKey: { token: string, apiKey: { id: string, name: string, kind: ApiKeyKind, scopes: Array<string>, createdAt: string, expiresAt: string, lastUsedAt: string | null } } };

export type RevokeTokenMutationVariables = Exact<{
  id: string;
}>;


export type RevokeTokenMutation = { revokeApiKey: { apiKey: { id: string } } };

export type ApplicationsQueryVariables = Exact<{
  first?: number | null | undefined;
}>;


export type ApplicationsQuery = { oauth2Apps: { totalCount: number, nodes: Array<{ id: string, clientId: string, name: string, kind: OAuth2AppKind, disabled: boolean, lastUsedAt: string | null }> } };

export type LicensesQueryVariables = Exact<{ [key: string]: never; }>;


export type LicensesQuery = { licenses: Array<{ id: number, uuid: string, uploadedAt: string, expiresAt: string | null, gracePeriodEndsAt: string | null }> };

export type AuditLogQueryVariables = Exact<{
  filter?: AuditEventFilter | null | undefined;
  first?: number | null | undefined;
}>;


export type AuditLogQuery = { auditEvents: { totalCount: number, nodes: Array<{ id: string, time: string, action: AuditAction, actorUsername: string | null, actorKind: string, resourceType: string, resourceLabel: string | null, resourceId: string | null, ip: string | null, diff: Record<string, unknown> }> } };

export const Users = operation<UsersQuery, UsersQueryVariables>("fragment UserLine on User { id username name email status loginType isServiceAccount lastSeenAt createdAt roles { name } } query Users($filter: UserFilter, $first: Int) { users(filter: $filter, first: $first) { totalCount nodes { ...UserLine } } }");
export const User = operation<UserQuery, UserQueryVariables>("fragment UserLine on User { id username name email status loginType isServiceAccount lastSeenAt createdAt roles { name } } query User($user: String!) { user(user: $user) { ...UserLine organizations { name } groups(first: 100) { nodes { name organization { name } } } } }");
export const CreateUser = operation<CreateUserMutation, CreateUserMutationVariables>("fragment UserLine on User { id username name email status loginType isServiceAccount lastSeenAt createdAt roles { name } } mutation CreateUser($input: CreateUserInput!) { createUser(input: $input) { user { ...UserLine } } }");
export const InviteUser = operation<InviteUserMutation, InviteUserMutationVariables>("mutation InviteUser($input: InviteUserInput!) { inviteUser(input: $input) { link invitation { id email expiresAt } } }");
export const SuspendUser = operation<SuspendUserMutation, SuspendUserMutationVariables>("fragment UserLine on User { id username name email status loginType isServiceAccount lastSeenAt createdAt roles { name } } mutation SuspendUser($user: String!) { suspendUser(input: {user: $user}) { user { ...UserLine } } }");
export const ActivateUser = operation<ActivateUserMutation, ActivateUserMutationVariables>("fragment UserLine on User { id username name email status loginType isServiceAccount lastSeenAt createdAt roles { name } } mutation ActivateUser($user: String!) { activateUser(input: {user: $user}) { user { ...UserLine } } }");
export const DeleteUser = operation<DeleteUserMutation, DeleteUserMutationVariables>("mutation DeleteUser($user: String!) { deleteUser(input: {user: $user}) { user { id username } } }");
export const Groups = operation<GroupsQuery, GroupsQueryVariables>("fragment GroupLine on Group { id name displayName source quotaAllowance totalMemberCount organization { name } } query Groups($filter: GroupFilter, $first: Int) { groups(filter: $filter, first: $first) { totalCount nodes { ...GroupLine } } }");
export const Group = operation<GroupQuery, GroupQueryVariables>("fragment GroupLine on Group { id name displayName source quotaAllowance totalMemberCount organization { name } } query Group($group: String!) { group(group: $group) { ...GroupLine members(first: 1000) { nodes { user { username } } } } }");
export const CreateGroup = operation<CreateGroupMutation, CreateGroupMutationVariables>("fragment GroupLine on Group { id name displayName source quotaAllowance totalMemberCount organization { name } } mutation CreateGroup($input: CreateGroupInput!) { createGroup(input: $input) { group { ...GroupLine } } }");
export const UpdateGroup = operation<UpdateGroupMutation, UpdateGroupMutationVariables>("fragment GroupLine on Group { id name displayName source quotaAllowance totalMemberCount organization { name } } mutation UpdateGroup($input: UpdateGroupInput!) { updateGroup(input: $input) { group { ...GroupLine } } }");
export const DeleteGroup = operation<DeleteGroupMutation, DeleteGroupMutationVariables>("mutation DeleteGroup($group: String!) { deleteGroup(input: {group: $group}) { group { id name } } }");
export const Organizations = operation<OrganizationsQuery, OrganizationsQueryVariables>("query Organizations { organizations { id name displayName isDefault memberCount } }");
export const Tokens = operation<TokensQuery, TokensQueryVariables>("fragment TokenLine on ApiKey { id name kind scopes createdAt expiresAt lastUsedAt } query Tokens($user: String!) { apiKeys(user: $user) { ...TokenLine } }");
export const CreateToken = operation<CreateTokenMutation, CreateTokenMutationVariables>("fragment TokenLine on ApiKey { id name kind scopes createdAt expiresAt lastUsedAt } mutation CreateToken($input: CreateApiKeyInput!) { createApiKey(input: $input) { token apiKey { ...TokenLine } } }");
export const RevokeToken = operation<RevokeTokenMutation, RevokeTokenMutationVariables>("mutation RevokeToken($id: String!) { revokeApiKey(input: {id: $id}) { apiKey { id } } }");
export const Applications = operation<ApplicationsQuery, ApplicationsQueryVariables>("query Applications($first: Int) { oauth2Apps(first: $first) { totalCount nodes { id clientId name kind disabled lastUsedAt } } }");
export const Licenses = operation<LicensesQuery, LicensesQueryVariables>("query Licenses { licenses { id uuid uploadedAt expiresAt gracePeriodEndsAt } }");
export const AuditLog = operation<AuditLogQuery, AuditLogQueryVariables>("query AuditLog($filter: AuditEventFilter, $first: Int) { auditEvents(filter: $filter, first: $first) { totalCount nodes { id time action actorUsername actorKind resourceType resourceLabel resourceId ip diff } } }");