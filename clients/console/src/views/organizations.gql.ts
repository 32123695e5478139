// Generated from organizations.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type AddOrganizationMemberInput = {
  organization: string;
  user: string;
};

export type CreateOrganizationInput = {
  description?: string | null | undefined;
  displayName?: string | null | undefined;
  icon?: string | null | undefined;
  name: string;
};

export type DeleteOrganizationInput = {
  organization: string;
};

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type OrganizationMemberFilter = {
  role?: RoleName | null | undefined;
  search?: string | null | undefined;
};

export type OrganizationMemberOrder = {
  direction: OrderDirection;
  field: OrganizationMemberOrderField;
};

export type OrganizationMemberOrderField =
  | 'JOINED_AT'
  | 'USERNAME';

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

export type UpdateOrganizationInput = {
  description?: string | null | undefined;
  displayName?: string | null | undefined;
  icon?: string | null | undefined;
  name?: string | null | undefined;
  organization: string;
};

export type OrganizationListQueryVariables = Exact<{ [key: string]: never; }>;


export type OrganizationListQuery = { organizations: Array<{ id: string, name: string, displayName: string, description: string, isDefault: boolean, memberCount: number, createdAt: string }> };

export type OrganizationQueryVariables = Exact<{
  organization: string;
}>;


export type OrganizationQuery = { organization: { id: string, name: string, displayName: string, description: string, icon: string, isDefault: boolean, memberCount: number, createdAt: string, workspaces: { totalCount: number } } | null };

export type MembersQueryVariables = Exact<{
  organization: string;
  filter?: OrganizationMemberFilter | null | undefined;
  orderBy?: OrganizationMemberOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type MembersQuery = { organizationMembers: { totalCount: number, nodes: Array<{ id: string, username: string, name: string, joinedAt: string | null, roles: Array<{ name: RoleName }> | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type AssignableRolesQueryVariables = Exact<{
  organization: string;
}>;


export type AssignableRolesQuery = { assignableRoles: Array<{ name: RoleName, displayName: string, assignable: boolean }> };

export type CreateOrganizationMutationVariables = Exact<{
  input: CreateOrganizationInput;
}>;


export type CreateOrganizationMutation = { createOrganization: { organization: { id: string } } };

export type UpdateOrganizationMutationVariables = Exact<{
  input: UpdateOrganizationInput;
}>;


export type UpdateOrganizationMutation = { updateOrganization: { organization: { id: string } } };

export type DeleteOrganizationMutationVariables = Exact<{
  input: DeleteOrganizationInput;
}>;


export type DeleteOrganizationMutation = { deleteOrganization: { organization: { id: string } } };

export type AddMemberMutationVariables = Exact<{
  input: AddOrganizationMemberInput;
}>;


export type AddMemberMutation = { addOrganizationMember: { member: { id: string } } };

export type RemoveMemberMutationVariables = Exact<{
  input: RemoveOrganizationMemberInput;
}>;


export type RemoveMemberMutation = { removeOrganizationMember: { member: { id: string } } };

export type SetMemberRolesMutationVariables = Exact<{
  input: SetOrganizationMemberRolesInput;
}>;


export type SetMemberRolesMutation = { setOrganizationMemberRoles: { member: { id: string } } };

export const OrganizationList = operation<OrganizationListQuery, OrganizationListQueryVariables>("query OrganizationList { organizations { id name displayName description isDefault memberCount createdAt } }");
export const Organization = operation<OrganizationQuery, OrganizationQueryVariables>("query Organization($organization: String!) { organization(organization: $organization) { id name displayName description icon isDefault memberCount createdAt workspaces(first: 1) { totalCount } } }");
export const Members = operation<MembersQuery, MembersQueryVariables>("query Members($organization: String!, $filter: OrganizationMemberFilter, $orderBy: OrganizationMemberOrder, $first: Int, $after: String, $last: Int, $before: String) { organizationMembers( organization: $organization filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id username name joinedAt roles { name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const AssignableRoles = operation<AssignableRolesQuery, AssignableRolesQueryVariables>("query AssignableRoles($organization: String!) { assignableRoles(organization: $organization) { name displayName assignable } }");
export const CreateOrganization = operation<CreateOrganizationMutation, CreateOrganizationMutationVariables>("mutation CreateOrganization($input: CreateOrganizationInput!) { createOrganization(input: $input) { organization { id } } }", {"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"icon":{"type":"URL","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them","isRequired":true}});
export const UpdateOrganization = operation<UpdateOrganizationMutation, UpdateOrganizationMutationVariables>("mutation UpdateOrganization($input: UpdateOrganizationInput!) { updateOrganization(input: $input) { organization { id } } }", {"description":{"type":"String","kind":"multi-line","limits":{"maxLength":1000},"words":"at most 1000 characters"},"displayName":{"type":"String","limits":{"maxLength":64},"words":"at most 64 characters"},"icon":{"type":"URL","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":32,"pattern":"^[a-zA-Z0-9]+(-[a-zA-Z0-9]+)*$"},"words":"at most 32 letters, digits, and single hyphens between them"},"organization":{"type":"String","kind":"reference","isRequired":true}});
export const DeleteOrganization = operation<DeleteOrganizationMutation, DeleteOrganizationMutationVariables>("mutation DeleteOrganization($input: DeleteOrganizationInput!) { deleteOrganization(input: $input) { organization { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true}});
export const AddMember = operation<AddMemberMutation, AddMemberMutationVariables>("mutation AddMember($input: AddOrganizationMemberInput!) { addOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true}});
export const RemoveMember = operation<RemoveMemberMutation, RemoveMemberMutationVariables>("mutation RemoveMember($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"user":{"type":"String","kind":"reference","isRequired":true}});
export const SetMemberRoles = operation<SetMemberRolesMutation, SetMemberRolesMutationVariables>("mutation SetMemberRoles($input: SetOrganizationMemberRolesInput!) { setOrganizationMemberRoles(input: $input) { member { id } } }", {"organization":{"type":"String","kind":"reference","isRequired":true},"roles":{"type":"RoleName","kind":"choice","isRequired":true,"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]},"user":{"type":"String","kind":"reference","isRequired":true}});