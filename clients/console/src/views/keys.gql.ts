// Generated from keys.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ApiKeyKind =
  | 'APPLICATION'
  | 'OAUTH'
  | 'SESSION'
  | 'TOKEN';

export type BeginIdentityLinkInput = {
  provider: string;
};

export type CreateApiKeyInput = {
  expiresAt?: string | null | undefined;
  name: string;
  scopes?: Array<string> | null | undefined;
  user?: string | null | undefined;
};

export type IdentityProviderType =
  | 'GITHUB'
  | 'OIDC';

export type RevokeApiKeyInput = {
  id: string;
  withAllItMade?: boolean | null | undefined;
};

export type UnlinkUserIdentityInput = {
  provider?: string | null | undefined;
  user: string;
};

export type UpdateApiKeyInput = {
  id: string;
  name: string;
};

export type KeysQueryVariables = Exact<{ [key: string]: never; }>;


export type KeysQuery = { apiKeys: Array<{ id: string, name: string, kind: ApiKeyKind, createdAt: string, lastUsedAt: string | null, expiresAt: string, ip: string | null, userAgent: string | null, isCurrent: boolean, scopes: Array<string>, madeBy: { kind: ApiKeyKind | null, name: string, hasEnded: boolean } | null }>, userIdentities: Array<{ provider: IdentityProviderType, providerName: string, issuer: string, subject: string, claim: string, createdAt: string }>, serverInfo: { identityProviders: Array<{ name: string, label: string }> }, authScopes: { external: Array<string> } };

export type CreateApiKeyMutationVariables = Exact<{
  input: CreateApiKeyInput;
}>;


export type CreateApiKeyMutation = { createApiKey: { token: string, apiKey: { id: string, name: string } } };

export type RenameKeyMutationVariables = Exact<{
  input: UpdateApiKeyInput;
}>;


export type RenameKeyMutation = { updateApiKey: { apiKey: { id: string } } };

export type RevokeKeyMutationVariables = Exact<{
  input: RevokeApiKeyInput;
}>;


export type RevokeKeyMutation = { revokeApiKey: { endedKeyCount: number, endedGrantCount: number, apiKey: { id: string }, left: Array<{ resourceType: string, resourceId: string | null, label: string | null, madeAt: string }> } };

export type RevokeSessionsMutationVariables = Exact<{ [key: string]: never; }>;


export type RevokeSessionsMutation = { revokeSessions: { revokedCount: number } };

export type BeginIdentityLinkMutationVariables = Exact<{
  input: BeginIdentityLinkInput;
}>;


export type BeginIdentityLinkMutation = { beginIdentityLink: { url: string } };

export type UnlinkOwnIdentityMutationVariables = Exact<{
  input: UnlinkUserIdentityInput;
}>;


export type UnlinkOwnIdentityMutation = { unlinkUserIdentity: { user: { id: string } } };

export const Keys = operation<KeysQuery, KeysQueryVariables>("query Keys { apiKeys { id name kind createdAt lastUsedAt expiresAt ip userAgent isCurrent scopes madeBy { kind name hasEnded } } userIdentities { provider providerName issuer subject claim createdAt } serverInfo { identityProviders { name label } } authScopes { external } }");
export const CreateApiKey = operation<CreateApiKeyMutation, CreateApiKeyMutationVariables>("mutation CreateApiKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { token apiKey { id name } } }", {"expiresAt":{"type":"DateTime","hint":"When the token expires. Default: the default token lifetime of the deployment from now."},"name":{"type":"String","hint":"Name of 1 to 64 characters, unique among the user's API tokens.","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters","isRequired":true},"scopes":{"type":"String","hint":"Scopes to restrict the token to. Default: `all`.","isList":true},"user":{"type":"String","hint":"Owner of the token: the ID or username of a service account. Default: the caller.","kind":"reference"}});
export const RenameKey = operation<RenameKeyMutation, RenameKeyMutationVariables>("mutation RenameKey($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { apiKey { id } } }", {"id":{"type":"String","hint":"ID of the API token.","isRequired":true},"name":{"type":"String","hint":"New name of 1 to 64 characters, unique among the user's API tokens.","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters","isRequired":true}});
export const RevokeKey = operation<RevokeKeyMutation, RevokeKeyMutationVariables>("mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } endedKeyCount endedGrantCount left { resourceType resourceId label madeAt } } }", {"id":{"type":"String","hint":"ID of the API key.","isRequired":true},"withAllItMade":{"type":"Boolean","hint":"Whether the keys and grants that were made with it end, too, and all that was made with those. Default: true for API tokens, false for other kinds."}});
export const RevokeSessions = operation<RevokeSessionsMutation, RevokeSessionsMutationVariables>("mutation RevokeSessions { revokeSessions { revokedCount } }");
export const BeginIdentityLink = operation<BeginIdentityLinkMutation, BeginIdentityLinkMutationVariables>("mutation BeginIdentityLink($input: BeginIdentityLinkInput!) { beginIdentityLink(input: $input) { url } }", {"provider":{"type":"String","hint":"Name of the provider.","kind":"reference","isRequired":true}});
export const UnlinkOwnIdentity = operation<UnlinkOwnIdentityMutation, UnlinkOwnIdentityMutationVariables>("mutation UnlinkOwnIdentity($input: UnlinkUserIdentityInput!) { unlinkUserIdentity(input: $input) { user { id } } }", {"provider":{"type":"String","hint":"Name of the provider of the identity. Default: all of them.","kind":"reference"},"user":{"type":"String","hint":"The user: ID, username, or `me`.","kind":"reference","isRequired":true}});