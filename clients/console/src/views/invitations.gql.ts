// Generated from invitations.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

export type ImportInvitationsInput = {
  csv: string;
  delivery?: InvitationDelivery | null | undefined;
  isPreview?: boolean | null | undefined;
};

export type InvitationDelivery =
  | 'LINK'
  | 'MAIL';

export type InvitationFilter = {
  search?: string | null | undefined;
  status?: InvitationStatus | null | undefined;
};

export type InvitationOrder = {
  direction: OrderDirection;
  field: InvitationOrderField;
};

export type InvitationOrderField =
  | 'CREATED_AT'
  | 'EMAIL';

export type InvitationStatus =
  | 'ACCEPTED'
  | 'EXPIRED'
  | 'OPEN'
  | 'REVOKED';

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

export type OrderDirection =
  | 'ASC'
  | 'DESC';

export type ResendInvitationInput = {
  delivery?: InvitationDelivery | null | undefined;
  id: string;
};

export type RevokeInvitationInput = {
  id: string;
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

export type InvitationsQueryVariables = Exact<{
  filter?: InvitationFilter | null | undefined;
  orderBy?: InvitationOrder | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type InvitationsQuery = { invitations: { totalCount: number, nodes: Array<{ id: string, email: string, name: string, status: InvitationStatus, isVoid: boolean, delivery: InvitationDelivery, isMailed: boolean, mailFault: string | null, siteRoles: Array<RoleName>, createdAt: string, sentAt: string, expiresAt: string, memberships: Array<{ organizationId: string, organizationName: string, roles: Array<RoleName> }>, groups: Array<{ id: string, name: string, displayName: string }>, inviter: { id: string, username: string, name: string }, user: { id: string, username: string, name: string } | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type InvitationChoicesQueryVariables = Exact<{ [key: string]: never; }>;


export type InvitationChoicesQuery = { serverInfo: { passwordAuth: boolean, identityProviders: Array<{ type: IdentityProviderType, label: string }> }, groups: { nodes: Array<{ id: string, name: string, displayName: string, isEveryone: boolean, organization: { id: string, name: string } }> } };

export type InviteUserMutationVariables = Exact<{
  input: InviteUserInput;
}>;


export type InviteUserMutation = { inviteUser: { link: string | null, invitation: { email: string } } };

export type ResendInvitationMutationVariables = Exact<{
  input: ResendInvitationInput;
}>;


export type ResendInvitationMutation = { resendInvitation: { link: string | null, invitation: { email: string } } };

export type RevokeInvitationMutationVariables = Exact<{
  input: RevokeInvitationInput;
}>;


export type RevokeInvitationMutation = { revokeInvitation: { invitation: { id: string } } };

export type ImportInvitationsMutationVariables = Exact<{
  input: ImportInvitationsInput;
}>;


export type ImportInvitationsMutation = { importInvitations: { invitedCount: number, rows: Array<{ line: number, email: string, name: string, link: string | null, faults: Array<{ column: string, detail: string }> }> } };

export const Invitations = operation<InvitationsQuery, InvitationsQueryVariables>("query Invitations($filter: InvitationFilter, $orderBy: InvitationOrder, $first: Int, $after: String, $last: Int, $before: String) { invitations( filter: $filter orderBy: $orderBy first: $first after: $after last: $last before: $before ) { totalCount nodes { id email name status isVoid delivery isMailed mailFault siteRoles memberships { organizationId organizationName roles } groups { id name displayName } createdAt sentAt expiresAt inviter { id username name } user { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const InvitationChoices = operation<InvitationChoicesQuery, InvitationChoicesQueryVariables>("query InvitationChoices { serverInfo { passwordAuth identityProviders { type label } } groups(first: 200) { nodes { id name displayName isEveryone organization { id name } } } }");
export const InviteUser = operation<InviteUserMutation, InviteUserMutationVariables>("mutation InviteUser($input: InviteUserInput!) { inviteUser(input: $input) { link invitation { email } } }", {"delivery":{"type":"InvitationDelivery","kind":"choice","options":["LINK","MAIL"]},"email":{"type":"EmailAddress","limits":{"minLength":3,"maxLength":254,"pattern":"^[^@\\s]+@[^@\\s]+$"},"isRequired":true},"groups":{"type":"String","kind":"reference","limits":{"maxItems":100},"isList":true},"loginType":{"type":"InvitedLogin","kind":"choice","options":["GITHUB","OIDC","PASSWORD"]},"name":{"type":"String","limits":{"maxLength":128},"words":"at most 128 characters"},"organizations":{"type":"InvitedOrganization","limits":{"maxItems":100},"isList":true,"fields":{"organization":{"type":"String","kind":"reference","isRequired":true},"roles":{"type":"RoleName","kind":"choice","limits":{"maxItems":10},"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]}}},"roles":{"type":"RoleName","kind":"choice","limits":{"maxItems":10},"isList":true,"options":["AUDITOR","MEMBER","ORGANIZATION_ADMIN","ORGANIZATION_AUDITOR","ORGANIZATION_MEMBER","ORGANIZATION_TEMPLATE_ADMIN","ORGANIZATION_USER_ADMIN","OWNER","TEMPLATE_ADMIN","USER_ADMIN"]}});
export const ResendInvitation = operation<ResendInvitationMutation, ResendInvitationMutationVariables>("mutation ResendInvitation($input: ResendInvitationInput!) { resendInvitation(input: $input) { link invitation { email } } }", {"delivery":{"type":"InvitationDelivery","kind":"choice","options":["LINK","MAIL"]},"id":{"type":"UUID","isRequired":true}});
export const RevokeInvitation = operation<RevokeInvitationMutation, RevokeInvitationMutationVariables>("mutation RevokeInvitation($input: RevokeInvitationInput!) { revokeInvitation(input: $input) { invitation { id } } }", {"id":{"type":"UUID","isRequired":true}});
export const ImportInvitations = operation<ImportInvitationsMutation, ImportInvitationsMutationVariables>("mutation ImportInvitations($input: ImportInvitationsInput!) { importInvitations(input: $input) { invitedCount rows { line email name link faults { column detail } } } }", {"csv":{"type":"String","kind":"multi-line","limits":{"maxLength":400000},"words":"at most 400000 characters","isRequired":true},"delivery":{"type":"InvitationDelivery","kind":"choice","options":["LINK","MAIL"]},"isPreview":{"type":"Boolean"}});