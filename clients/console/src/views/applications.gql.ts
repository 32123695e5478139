// Generated from applications.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type CreateOAuth2AppInput = {
  callbackUrl?: string | null | undefined;
  defaultResource?: string | null | undefined;
  disabled?: boolean | null | undefined;
  grantTypes?: Array<OAuth2GrantType> | null | undefined;
  icon?: string | null | undefined;
  name: string;
  pkceRequired?: boolean | null | undefined;
  redirectUris?: Array<string> | null | undefined;
  resourceIndicators?: Array<string> | null | undefined;
  scopeCeiling?: Array<string> | null | undefined;
  serviceUserId?: string | null | undefined;
};

export type CreateOAuth2AppSecretInput = {
  app: string;
  expiresAt?: string | null | undefined;
};

export type DeleteOAuth2AppInput = {
  id: string;
};

export type DeleteOAuth2AppSecretInput = {
  app: string;
  id: string;
};

export type OAuth2AppKind =
  | 'ADMIN'
  | 'DOCUMENT'
  | 'DYNAMIC';

export type OAuth2AppType =
  | 'CONFIDENTIAL'
  | 'PUBLIC';

export type OAuth2GrantRevokeReason =
  | 'CODE_REPLAY'
  | 'PASSWORD_RESET'
  | 'REFRESH_REUSE'
  | 'REVOKED'
  | 'SECRET_DELETED'
  | 'SUPERSEDED'
  | 'USER_DELETED'
  | 'USER_SUSPENDED';

export type OAuth2GrantType =
  | 'AUTHORIZATION_CODE'
  | 'CLIENT_CREDENTIALS'
  | 'DEVICE_CODE'
  | 'REFRESH_TOKEN';

export type RevokeOAuth2GrantInput = {
  id: string;
};

export type UpdateOAuth2AppInput = {
  callbackUrl?: string | null | undefined;
  defaultResource?: string | null | undefined;
  disabled?: boolean | null | undefined;
  grantTypes?: Array<OAuth2GrantType> | null | undefined;
  icon?: string | null | undefined;
  id: string;
  name?: string | null | undefined;
  pkceRequired?: boolean | null | undefined;
  redirectUris?: Array<string> | null | undefined;
  resourceIndicators?: Array<string> | null | undefined;
  scopeCeiling?: Array<string> | null | undefined;
  serviceUserId?: string | null | undefined;
};

export type UpdateOAuth2SettingsInput = {
  defaultResource?: string | null | undefined;
  dynamicRegistration?: boolean | null | undefined;
};

export type ApplicationsQueryVariables = Exact<{
  q?: string | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type ApplicationsQuery = { oauth2Apps: { totalCount: number, nodes: Array<{ id: string, name: string, kind: OAuth2AppKind, type: OAuth2AppType, disabled: boolean, clientId: string, createdAt: string, lastUsedAt: string | null }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type RegistrationSettingsQueryVariables = Exact<{ [key: string]: never; }>;


export type RegistrationSettingsQuery = { oauth2Settings: { dynamicRegistration: boolean | null, defaultResource: string | null } };

export type ApplicationQueryVariables = Exact<{
  id: string;
  secrets: boolean;
}>;


export type ApplicationQuery = { oauth2App: { id: string, name: string, icon: string, kind: OAuth2AppKind, type: OAuth2AppType, disabled: boolean, clientId: string, callbackUrl: string | null, redirectUris: Array<string>, grantTypes: Array<OAuth2GrantType>, scopeCeiling: Array<string> | null, resourceIndicators: Array<string>, defaultResource: string | null, pkceRequired: boolean, createdAt: string, lastUsedAt: string | null, documentUrl: string | null, serviceUser: { id: string, username: string, name: string } | null, createdBy: { id: string, username: string, name: string } | null, endpoints: { authorization: string, token: string }, secrets?: Array<{ id: string, clientSecretTruncated: string, createdAt: string, expiresAt: string | null, lastUsedAt: string | null }> | null } | null };

export type GrantsOfApplicationQueryVariables = Exact<{
  app: string;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type GrantsOfApplicationQuery = { oauth2Grants: { totalCount: number, nodes: Array<{ id: string, createdAt: string, lastUsedAt: string, scopes: Array<string>, user: { id: string, username: string, name: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type ServiceAccountsQueryVariables = Exact<{
  search: string;
}>;


export type ServiceAccountsQuery = { users: { nodes: Array<{ id: string, username: string, name: string }> } };

export type ServiceAccountQueryVariables = Exact<{
  username: string;
}>;


export type ServiceAccountQuery = { user: { id: string, isServiceAccount: boolean } | null };

export type CreateApplicationMutationVariables = Exact<{
  input: CreateOAuth2AppInput;
}>;


export type CreateApplicationMutation = { createOAuth2App: { oauth2App: { id: string } } };

export type UpdateApplicationMutationVariables = Exact<{
  input: UpdateOAuth2AppInput;
}>;


export type UpdateApplicationMutation = { updateOAuth2App: { oauth2App: { id: string } } };

export type DeleteApplicationMutationVariables = Exact<{
  input: DeleteOAuth2AppInput;
}>;


export type DeleteApplicationMutation = { deleteOAuth2App: { oauth2App: { id: string } } };

export type CreateSecretMutationVariables = Exact<{
  input: CreateOAuth2AppSecretInput;
}>;


export type CreateSecretMutation = { createOAuth2AppSecret: { clientSecretFull: string } };

export type DeleteSecretMutationVariables = Exact<{
  input: DeleteOAuth2AppSecretInput;
}>;


export type DeleteSecretMutation = { deleteOAuth2AppSecret: { oauth2AppSecret: { id: string } } };

export type UpdateRegistrationMutationVariables = Exact<{
  input: UpdateOAuth2SettingsInput;
}>;


export type UpdateRegistrationMutation = { updateOAuth2Settings: { oauth2Settings: { dynamicRegistration: boolean | null, defaultResource: string | null } } };

export type GrantsQueryVariables = Exact<{
  user?: string | null | undefined;
  includeEnded?: boolean | null | undefined;
  first?: number | null | undefined;
  after?: string | null | undefined;
  last?: number | null | undefined;
  before?: string | null | undefined;
}>;


export type GrantsQuery = { oauth2Grants: { totalCount: number, nodes: Array<{ id: string, createdAt: string, lastUsedAt: string, expiresAt: string, revokedAt: string | null, revokeReason: OAuth2GrantRevokeReason | null, scopes: Array<string>, app: { id: string, name: string }, user: { id: string, username: string, name: string } }>, pageInfo: { startCursor: string | null, endCursor: string | null, hasNextPage: boolean, hasPreviousPage: boolean } } };

export type RevokeGrantMutationVariables = Exact<{
  input: RevokeOAuth2GrantInput;
}>;


export type RevokeGrantMutation = { revokeOAuth2Grant: { oauth2Grant: { id: string } } };

export const Applications = operation<ApplicationsQuery, ApplicationsQueryVariables>("query Applications($q: String, $first: Int, $after: String, $last: Int, $before: String) { oauth2Apps(q: $q, first: $first, after: $after, last: $last, before: $before) { totalCount nodes { id name kind type disabled clientId createdAt lastUsedAt } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const RegistrationSettings = operation<RegistrationSettingsQuery, RegistrationSettingsQueryVariables>("query RegistrationSettings { oauth2Settings { dynamicRegistration defaultResource } }");
export const Application = operation<ApplicationQuery, ApplicationQueryVariables>("query Application($id: UUID!, $secrets: Boolean!) { oauth2App(id: $id) { id name icon kind type disabled clientId callbackUrl redirectUris grantTypes scopeCeiling resourceIndicators defaultResource serviceUser { id username name } pkceRequired createdAt lastUsedAt documentUrl createdBy { id username name } endpoints { authorization token } secrets @include(if: $secrets) { id clientSecretTruncated createdAt expiresAt lastUsedAt } } }");
export const GrantsOfApplication = operation<GrantsOfApplicationQuery, GrantsOfApplicationQueryVariables>("query GrantsOfApplication($app: UUID!, $first: Int, $after: String, $last: Int, $before: String) { oauth2Grants( app: $app first: $first after: $after last: $last before: $before ) { totalCount nodes { id createdAt lastUsedAt scopes user { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const ServiceAccounts = operation<ServiceAccountsQuery, ServiceAccountsQueryVariables>("query ServiceAccounts($search: String!) { users(filter: {serviceAccount: true, search: $search}, first: 10) { nodes { id username name } } }");
export const ServiceAccount = operation<ServiceAccountQuery, ServiceAccountQueryVariables>("query ServiceAccount($username: String!) { user(user: $username) { id isServiceAccount } }");
export const CreateApplication = operation<CreateApplicationMutation, CreateApplicationMutationVariables>("mutation CreateApplication($input: CreateOAuth2AppInput!) { createOAuth2App(input: $input) { oauth2App { id } } }", {"callbackUrl":{"type":"String","limits":{"maxLength":2048},"words":"at most 2048 bytes"},"defaultResource":{"type":"String","limits":{"maxLength":2048},"words":"at most 2048 characters"},"disabled":{"type":"Boolean"},"grantTypes":{"type":"OAuth2GrantType","kind":"choice","isList":true,"options":["AUTHORIZATION_CODE","CLIENT_CREDENTIALS","DEVICE_CODE","REFRESH_TOKEN"]},"icon":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"name":{"type":"String","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters","isRequired":true},"pkceRequired":{"type":"Boolean"},"redirectUris":{"type":"String","limits":{"maxLength":2048,"maxItems":32},"words":"at most 2048 bytes","isList":true},"resourceIndicators":{"type":"String","limits":{"maxLength":2048,"maxItems":16},"words":"at most 2048 characters","isList":true},"scopeCeiling":{"type":"String","limits":{"maxItems":110},"isList":true},"serviceUserId":{"type":"UUID"}});
export const UpdateApplication = operation<UpdateApplicationMutation, UpdateApplicationMutationVariables>("mutation UpdateApplication($input: UpdateOAuth2AppInput!) { updateOAuth2App(input: $input) { oauth2App { id } } }", {"callbackUrl":{"type":"String","limits":{"maxLength":2048},"words":"at most 2048 bytes"},"defaultResource":{"type":"String","limits":{"maxLength":2048},"words":"at most 2048 characters"},"disabled":{"type":"Boolean"},"grantTypes":{"type":"OAuth2GrantType","kind":"choice","isList":true,"options":["AUTHORIZATION_CODE","CLIENT_CREDENTIALS","DEVICE_CODE","REFRESH_TOKEN"]},"icon":{"type":"String","limits":{"maxLength":2048,"pattern":"^($|/(?![/\\\\])|[Hh][Tt][Tt][Pp][Ss]?://)"}},"id":{"type":"UUID","isRequired":true},"name":{"type":"String","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters"},"pkceRequired":{"type":"Boolean"},"redirectUris":{"type":"String","limits":{"maxLength":2048,"maxItems":32},"words":"at most 2048 bytes","isList":true},"resourceIndicators":{"type":"String","limits":{"maxLength":2048,"maxItems":16},"words":"at most 2048 characters","isList":true},"scopeCeiling":{"type":"String","limits":{"maxItems":110},"isList":true},"serviceUserId":{"type":"UUID"}});
export const DeleteApplication = operation<DeleteApplicationMutation, DeleteApplicationMutationVariables>("mutation DeleteApplication($input: DeleteOAuth2AppInput!) { deleteOAuth2App(input: $input) { oauth2App { id } } }", {"id":{"type":"UUID","isRequired":true}});
export const CreateSecret = operation<CreateSecretMutation, CreateSecretMutationVariables>("mutation CreateSecret($input: CreateOAuth2AppSecretInput!) { createOAuth2AppSecret(input: $input) { clientSecretFull } }", {"app":{"type":"UUID","isRequired":true},"expiresAt":{"type":"DateTime"}});
export const DeleteSecret = operation<DeleteSecretMutation, DeleteSecretMutationVariables>("mutation DeleteSecret($input: DeleteOAuth2AppSecretInput!) { deleteOAuth2AppSecret(input: $input) { oauth2AppSecret { id } } }", {"app":{"type":"UUID","isRequired":true},"id":{"type":"UUID","isRequired":true}});
export const UpdateRegistration = operation<UpdateRegistrationMutation, UpdateRegistrationMutationVariables>("mutation UpdateRegistration($input: UpdateOAuth2SettingsInput!) { updateOAuth2Settings(input: $input) { oauth2Settings { dynamicRegistration defaultResource } } }", {"defaultResource":{"type":"String","limits":{"maxLength":2048},"words":"at most 2048 characters"},"dynamicRegistration":{"type":"Boolean"}});
export const Grants = operation<GrantsQuery, GrantsQueryVariables>("query Grants($user: String, $includeEnded: Boolean, $first: Int, $after: String, $last: Int, $before: String) { oauth2Grants( user: $user includeEnded: $includeEnded first: $first after: $after last: $last before: $before ) { totalCount nodes { id createdAt lastUsedAt expiresAt revokedAt revokeReason scopes app { id name } user { id username name } } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }");
export const RevokeGrant = operation<RevokeGrantMutation, RevokeGrantMutationVariables>("mutation RevokeGrant($input: RevokeOAuth2GrantInput!) { revokeOAuth2Grant(input: $input) { oauth2Grant { id } } }", {"id":{"type":"UUID","isRequired":true}});