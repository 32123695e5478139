// Generated from keys.graphql by `npm run console:types`.
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { operation } from "../api/operation";
export type ApiKeyKind =
  | 'APPLICATION'
  | 'OAUTH'
  | 'SESSION'
  | 'TOKEN';

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

export type UpdateApiKeyInput = {
  id: string;
  name: string;
};

export type KeysQueryVariables = Exact<{ [key: string]: never; }>;


export type KeysQuery = { apiKeys: Array<{ id: string, name: string, kind: ApiKeyKind, createdAt: string, lastUsedAt: string | null, expiresAt: string, ip: string | null, userAgent: string | null, isCurrent: boolean, scopes: Array<string>, madeBy: { kind: ApiKeyKind | null, name: string, hasEnded: boolean } | null }>, userIdentities: Array<{ provider: IdentityProviderType, issuer: string, subject: string, claim: string, createdAt: string }>, authScopes: { external: Array<string> } };

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

export const Keys = operation<KeysQuery, KeysQueryVariables>("query Keys { apiKeys { id name kind createdAt lastUsedAt expiresAt ip userAgent isCurrent scopes madeBy { kind name hasEnded } } userIdentities { provider issuer subject claim createdAt } authScopes { external } }");
export const CreateApiKey = operation<CreateApiKeyMutation, CreateApiKeyMutationVariables>("mutation CreateApiKey($input: CreateApiKeyInput!) { createApiKey(input: $input) { token apiKey { id name } } }", {"expiresAt":{"type":"DateTime"},"name":{"type":"String","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters","isRequired":true},"scopes":{"type":"String","isList":true},"user":{"type":"String","kind":"reference"}});
export const RenameKey = operation<RenameKeyMutation, RenameKeyMutationVariables>("mutation RenameKey($input: UpdateApiKeyInput!) { updateApiKey(input: $input) { apiKey { id } } }", {"id":{"type":"String","isRequired":true},"name":{"type":"String","limits":{"minLength":1,"maxLength":64},"words":"1 to 64 characters","isRequired":true}});
export const RevokeKey = operation<RevokeKeyMutation, RevokeKeyMutationVariables>("mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id } endedKeyCount endedGrantCount left { resourceType resourceId label madeAt } } }", {"id":{"type":"String","isRequired":true},"withAllItMade":{"type":"Boolean"}});
export const RevokeSessions = operation<RevokeSessionsMutation, RevokeSessionsMutationVariables>("mutation RevokeSessions { revokeSessions { revokedCount } }");