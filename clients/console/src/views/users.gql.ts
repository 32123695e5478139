// Generated from users.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ActivateUserInput = {
  user: string;
};

export type ApiKeyKind =
  | 'APPLICATION'
  | 'OAUTH'
  | 'SESSION'
  | 'TOKEN';

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

export type DeleteUserInput = {
  user: string;
};

export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

export type LinkUserIdentityInput = {
  issuer?: string | null | undefined;
  provider?: string | null | undefined;
  subject: string;
  user: string;
};

export type LoginType =
  | 'GITHUB'
  | 'NONE'
  | 'OIDC'
  | 'PASSWORD';

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type ResetUserPasswordInput = {
  mustChangePassword?: boolean | null | undefined;
  password: string;
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

export type SetUserRolesInput = {
  roles: Array<RoleName>;
  user: string;
};

export type SuspendUserInput = {
  user: string;
};

export type UnlinkUserIdentityInput = {
  provider?: string | null | undefined;
  user: string;
};

export type UpdateUserInput = {
  avatarUrl?: string | null | undefined;
  email?: string | null | undefined;
  name?: string | null | undefined;
  user: string;
  username?: string | null | undefined;
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

export type UserOrder = {
  direction: OrderDirection;
  field: UserOrderField;
};

export type UserOrderField =
  | 'CREATED_AT'
  | 'USERNAME';

export type UserStatus =
  | 'ACTIVE'
  | 'SUSPENDED';

export type WorkspaceStatus =
  | 'CANCELED'
  | 'CANCELING'
  | 'DELETED'
  | 'DELETING'
  | 'FAILED'
  | 'PENDING'
  | 'RUNNING'
  | 'STARTING'
  | 'STOPPED'
  | 'STOPPING';

export type UsersQueryVariables = Exact<{
  filter?: UserFilter | null | undefined;
  orderBy?: UserOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type UsersQuery = { users: { totalCount: number, nodes: Array<{ id: string, username: string, name: string, email: string, formerEmail: string | null, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, lastSeenAt: string | null, createdAt: string, roles: Array<{ name: RoleName }> }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type CreateUserMutationVariables = Exact<{
  input: CreateUserInput;
}>;


export type CreateUserMutation = { createUser: { user: { id: string } } };

export type UserQueryVariables = Exact<{
  user: string;
  hours: boolean;
  keys: boolean;
  grants: boolean;
}>;


export type UserQuery = { user: { id: string, username: string, name: string, email: string, formerEmail: string | null, status: UserStatus, loginType: LoginType, isServiceAccount: boolean, createdAt: string, lastSeenAt: string | null, avatarUrl: string, mustChangePassword: boolean, roles: Array<{ name: RoleName, organizationId: string }>, organizations: Array<{ id: string, name: string, displayName: string }>, groups: { nodes: Array<{ id: string, name: string, displayName: string, isEveryone: boolean, organization: { id: string } }> }, workspaces: { totalCount: number, nodes: Array<{ id: string, name: string, status: WorkspaceStatus }> } } | null, quietHours?: { schedule: string, time: string, timezone: string, next: string, userCanSet: boolean, userSet: boolean } | null, userIdentities?: Array<{ provider: IdentityProviderType, providerName: string, issuer: string, subject: string, claim: string, createdAt: string }>, apiKeys?: Array<{ id: string, name: string, kind: ApiKeyKind, createdAt: string, lastUsedAt: string | null, expiresAt: string, ip: string | null, userAgent: string | null, isCurrent: boolean, madeBy: { kind: ApiKeyKind | null, name: string, hasEnded: boolean } | null }>, oauth2Grants?: { nodes: Array<{ id: string, createdAt: string, lastUsedAt: string, scopes: Array<string>, app: { id: string, name: string } }> } };

export type UserSharesQueryVariables = Exact<{
  user: string;
}>;


export type UserSharesQuery = { aiSpend: { spentMicros: number, limitMicros: number | null } | null, workspaceQuota: { creditsConsumed: number, budget: number } | null };

export type UpdateUserMutationVariables = Exact<{
  input: UpdateUserInput;
}>;


export type UpdateUserMutation = { updateUser: { user: { id: string } } };

export type SetUserRolesMutationVariables = Exact<{
  input: SetUserRolesInput;
}>;


export type SetUserRolesMutation = { setUserRoles: { user: { id: string } } };

export type SuspendUserMutationVariables = Exact<{
  input: SuspendUserInput;
}>;


export type SuspendUserMutation = { suspendUser: { user: { id: string } } };

export type ActivateUserMutationVariables = Exact<{
  input: ActivateUserInput;
}>;


export type ActivateUserMutation = { activateUser: { user: { id: string } } };

export type DeleteUserMutationVariables = Exact<{
  input: DeleteUserInput;
}>;


export type DeleteUserMutation = { deleteUser: { user: { id: string } } };

export type ResetUserPasswordMutationVariables = Exact<{
  input: ResetUserPasswordInput;
}>;


export type ResetUserPasswordMutation = { resetUserPassword: { user: { id: string } } };

export type UnlinkIdentityMutationVariables = Exact<{
  input: UnlinkUserIdentityInput;
}>;


export type UnlinkIdentityMutation = { unlinkUserIdentity: { user: { id: string } } };

export type LinkIdentityMutationVariables = Exact<{
  input: LinkUserIdentityInput;
}>;


export type LinkIdentityMutation = { linkUserIdentity: { user: { id: string } } };

export const Users = operation<UsersQuery, UsersQueryVariables>("query Users($filter: UserFilter, $orderBy: UserOrder, $first: Int, $after: String, $last: Int, $before: String) { users( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id username name email formerEmail status loginType isServiceAccount lastSeenAt createdAt roles { name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const CreateUser = operation<CreateUserMutation, CreateUserMutationVariables>("mutation CreateUser($input: CreateUserInput!) { createUser(input: $input) { user { id } } }", {"email":{"type":"EmailAddress","hint":"Unique email address, case-insensitive.","limits":{"minLength":3,"maxLength":254,"pattern":"^[^@\\s]+@[^@\\s]+$"},"isRequired":true},"isServiceAccount":{"type":"Boolean","hint":"Whether to create a service account. Cannot be changed later. Default: false."},"loginType":{"type":"LoginType","hint":"How the user signs in. Default: NONE for service accounts, otherwise PASSWORD.","kind":"choice","options":["GITHUB","NONE","OIDC","PASSWORD"]},"mustChangePassword":{"type":"Boolean","hint":"Whether the user can sign in, but do nothing else, until the password was changed. Only with a password. Default: false."},"name":{"type":"String","hint":"Real name, at most 128 characters. Default: empty.","limits":{"maxLength":128},"words":"at most 128 characters"},"organizationIds":{"type":"UUID","hint":"IDs of the organizations to join, at least one. Default: the default organization.","isList":true},"password":{"type":"String","hint":"Password. Required if `loginType` is PASSWORD, which is the default, and rejected otherwise.","kind":"secret"},"username":{"type":"String","hint":"Unique username, case-insensitive: at most 32 letters, digits, and single hyphens between them.","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them","isRequired":true}});
export const User = operation<UserQuery, UserQueryVariables>("query User($user: String!, $hours: Boolean!, $keys: Boolean!, $grants: Boolean!) { user(user: $user) { id username name email formerEmail status loginType isServiceAccount createdAt lastSeenAt avatarUrl mustChangePassword roles { name organizationId } organizations { id name displayName } groups(first: 50) { nodes { id name displayName isEveryone organization { id } } } workspaces(first: 50) { totalCount nodes { id name status } } } quietHours(user: $user) @include(if: $hours) { schedule time timezone next userCanSet userSet } userIdentities(user: $user) @include(if: $hours) { provider providerName issuer subject claim createdAt } apiKeys(user: $user) @include(if: $keys) { id name kind createdAt lastUsedAt expiresAt ip userAgent isCurrent madeBy { kind name hasEnded } } oauth2Grants(user: $user, first: 50) @include(if: $grants) { nodes { id createdAt lastUsedAt app { id name } scopes } } }");
export const UserShares = operation<UserSharesQuery, UserSharesQueryVariables>("query UserShares($user: String!) { aiSpend(user: $user) { spentMicros limitMicros } workspaceQuota(user: $user) { creditsConsumed budget } }");
export const UpdateUser = operation<UpdateUserMutation, UpdateUserMutationVariables>("mutation UpdateUser($input: UpdateUserInput!) { updateUser(input: $input) { user { id } } }", {"avatarUrl":{"type":"URL","hint":"New URL of the avatar; empty for none.","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"email":{"type":"EmailAddress","hint":"New email address.","limits":{"minLength":3,"maxLength":254,"pattern":"^[^@\\s]+@[^@\\s]+$"}},"name":{"type":"String","hint":"New real name, at most 128 characters.","limits":{"maxLength":128},"words":"at most 128 characters"},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true},"username":{"type":"String","hint":"New username.","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"}});
export const SetUserRoles = operation<SetUserRolesMutation, SetUserRolesMutationVariables>("mutation SetUserRoles($input: SetUserRolesInput!) { setUserRoles(input: $input) { user { id } } }", {"roles":{"type":"RoleName","hint":"Replaces all roles held in the deployment.","kind":"choice","isRequired":true,"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const SuspendUser = operation<SuspendUserMutation, SuspendUserMutationVariables>("mutation SuspendUser($input: SuspendUserInput!) { suspendUser(input: $input) { user { id } } }", {"user":{"type":"String","hint":"The user: ID or username.","kind":"reference","isRequired":true}});
export const ActivateUser = operation<ActivateUserMutation, ActivateUserMutationVariables>("mutation ActivateUser($input: ActivateUserInput!) { activateUser(input: $input) { user { id } } }", {"user":{"type":"String","hint":"The user: ID or username.","kind":"reference","isRequired":true}});
export const DeleteUser = operation<DeleteUserMutation, DeleteUserMutationVariables>("mutation DeleteUser($input: DeleteUserInput!) { deleteUser(input: $input) { user { id } } }", {"user":{"type":"String","hint":"The user: ID or username.","kind":"reference","isRequired":true}});
export const ResetUserPassword = operation<ResetUserPasswordMutation, ResetUserPasswordMutationVariables>("mutation ResetUserPassword($input: ResetUserPasswordInput!) { resetUserPassword(input: $input) { user { id } } }", {"mustChangePassword":{"type":"Boolean","hint":"Whether the user can sign in with it, but do nothing else, until it was changed. Default: false."},"password":{"type":"String","hint":"The new password; weak passwords are rejected.","kind":"secret","isRequired":true},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const UnlinkIdentity = operation<UnlinkIdentityMutation, UnlinkIdentityMutationVariables>("mutation UnlinkIdentity($input: UnlinkUserIdentityInput!) { unlinkUserIdentity(input: $input) { user { id } } }", {"provider":{"type":"String","hint":"Name of the provider of the identity. Default: all of them.","kind":"reference"},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});
export const LinkIdentity = operation<LinkIdentityMutation, LinkIdentityMutationVariables>("mutation LinkIdentity($input: LinkUserIdentityInput!) { linkUserIdentity(input: $input) { user { id } } }", {"issuer":{"type":"String","hint":"Issuer in the ID tokens of the user; a final slash does not matter. Default: that of the provider."},"provider":{"type":"String","hint":"Name of the provider. Default: that of the user's identity if there is one, otherwise the first one of the user's login type.","kind":"reference"},"subject":{"type":"String","hint":"Permanent ID of the user at the provider, at most 255 characters: the value of the claim that its settings name, or the numeric ID of a user of GitHub.","kind":"multi-line","limits":{"maxLength":255},"words":"at most 255 characters","isRequired":true},"user":{"type":"String","hint":"The user, who signs in through a provider: ID or username.","kind":"reference","isRequired":true}});